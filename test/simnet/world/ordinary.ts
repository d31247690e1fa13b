import { domainToASCII } from 'node:url'
import { at } from '../random.ts'
import { postfix } from '../smtp/profile.ts'
import type { Limits, Profile } from '../smtp/profile.ts'
import type { Builder } from './builder.ts'
import { KINDS } from './kinds.ts'
import type { Kind } from './kinds.ts'
import { PROVIDERS } from './providers.ts'

/** Number of domains of each ordinary kind, besides 60 hosted and 40 plain ones. */
const COUNTS: Readonly<Partial<Record<Kind, number>>> = {
  exim: 14,
  exchange: 14,
  'no-pipelining': 5,
  'no-utf8': 5,
  'helo-only': 3,
  'accept-all': 14,
  greylist: 6,
  'greylist-slow': 3,
  'greylist-exim': 3,
  'blocked-banner': 3,
  'blocked-ehlo': 2,
  'blocked-mail': 3,
  'blocked-rcpt': 4,
  'blanket-reject': 2,
  'slow-banner': 3,
  slow: 3,
  'rate-limited': 4,
  'hangs-up-on-errors': 2,
  'tls-required': 3,
  'no-tls': 5,
  'tls-garbage': 2,
  'tls-refused': 2,
  'tls-close': 2,
  'tls-plaintext': 2,
}

/** Real names of disposable mail services, as in the packaged lists. */
const DISPOSABLE = [
  'mailinator.com',
  'guerrillamail.com',
  'yopmail.com',
  '10minutemail.com',
  'trashmail.com',
  'temp-mail.org',
  'sharklasers.com',
  'getnada.com',
  'dispostable.com',
  'maildrop.cc',
] as const

/** Adds domains at providers, at hosting companies and with their own mail hosts, of every ordinary kind. */
export function addMail(builder: Builder, limits: Readonly<Record<string, Limits>>): void {
  addProviders(builder, limits)
  addHosted(builder)
  for (let i = 0; i < 40; i++) addOwn(builder, 'plain', i)
  for (const [kind, count] of Object.entries(COUNTS)) {
    for (let i = 0; i < count; i++) addOwn(builder, kind as Kind, i)
  }
  addDisposable(builder)
  addWithoutMail(builder)
  addDeadHosts(builder)
  addInternational(builder)
}

function addProviders(builder: Builder, limits: Readonly<Record<string, Limits>>): void {
  for (const provider of PROVIDERS) {
    const held = limits[provider.name]
    const profileOf = (host: string): Profile =>
      held === undefined
        ? provider.profile(host)
        : { ...provider.profile(host), limits: held, limitGroup: provider.name }
    const names = provider.consumer.map(([name]) => name)
    const tenants = Array.from({ length: provider.tenants }, () => builder.company())
    for (const name of [...names, ...tenants]) {
      const exchanges = provider.hosts.map((pattern, i) => {
        const host = pattern.replace('%d', name.replaceAll('.', '-'))
        return { preference: 5 + i * 10, host: builder.host(host, profileOf(host)).name }
      })
      const year = provider.consumer.find(([consumer]) => consumer === name)?.[1]
      const ageDays =
        year === undefined
          ? undefined
          : Math.floor((builder.todayMs - Date.UTC(year, 5, 1)) / 86_400_000)
      builder.add({
        name,
        kind: provider.name,
        mail: { kind: 'mx', exchanges },
        free: year !== undefined,
        ...(ageDays === undefined
          ? {}
          : { registration: builder.registration(name, ageDays, ['client transfer prohibited']) }),
      })
    }
  }
}

/** Adds four hosting companies, each with two mail hosts for fifteen domains. */
function addHosted(builder: Builder): void {
  for (const [i, software] of (['plain', 'exim', 'plain', 'exchange'] as const).entries()) {
    const zone = `mailhosting${i + 1}-sim.net`
    const exchanges = [1, 2].map((n) => {
      const name = `mx${n}.${zone}`
      return { preference: n * 10, host: builder.host(name, KINDS[software](name)).name }
    })
    builder.add({ name: zone, kind: 'hosted', mail: { kind: 'mx', exchanges } })
    for (let n = 0; n < 15; n++) {
      builder.add({
        name: builder.company(),
        kind: 'hosted',
        mail: { kind: 'mx', exchanges },
        acceptsAll: n === 14,
      })
    }
  }
}

function addOwn(builder: Builder, kind: Kind, index: number): void {
  const name = builder.company()
  const hostName = at(['mail', 'mx', 'mx1', 'smtp'], index)
  const host = builder.host(`${hostName}.${name}`, KINDS[kind](`${hostName}.${name}`))
  const exchanges = [{ preference: 10, host: host.name }]
  if (kind === 'plain' && index % 4 === 0) {
    exchanges.push({
      preference: 20,
      host: builder.host(`backup.${name}`, postfix(`backup.${name}`)).name,
    })
  }
  builder.add({
    name,
    kind,
    mail: { kind: 'mx', exchanges },
    ...(index % 7 === 5 ? { dmarc: [] } : {}),
    ...(index % 9 === 7 ? { spf: [] } : {}),
    ...(index % 13 === 11 ? { spf: ['v=spf1 mx ~all', 'v=spf1 a -all'] } : {}),
  })
}

function addDisposable(builder: Builder): void {
  for (const name of DISPOSABLE) {
    const host = builder.host(`mail.${name}`, KINDS['accept-all'](`mail.${name}`))
    builder.add({
      name,
      kind: 'disposable',
      disposable: true,
      mail: { kind: 'mx', exchanges: [{ preference: 10, host: host.name }] },
      dmarc: [],
    })
  }
}

function addWithoutMail(builder: Builder): void {
  for (let i = 0; i < 6; i++)
    builder.add({
      name: builder.company(),
      kind: 'null-mx',
      mail: { kind: 'null-mx' },
      spf: ['v=spf1 -all'],
    })
  for (let i = 0; i < 8; i++) {
    const name = builder.company()
    const host = builder.host(name, postfix(name))
    builder.add({
      name,
      kind: 'implicit-mx',
      mail: { kind: 'implicit', host: host.name },
      address: host.address,
    })
  }
  for (let i = 0; i < 6; i++) {
    const { address: _, ...rest } = builder.add({
      name: builder.company(),
      kind: 'no-mail',
      mail: { kind: 'none' },
      spf: [],
      dmarc: [],
    })
    builder.domains.set(rest.name, rest)
  }
}

function addDeadHosts(builder: Builder): void {
  for (let i = 0; i < 6; i++) {
    const name = builder.company()
    const dead = builder.host(`mx1.${name}`)
    const alive = builder.host(`mx2.${name}`, postfix(`mx2.${name}`))
    builder.add({
      name,
      kind: 'first-mx-dead',
      mail: {
        kind: 'mx',
        exchanges: [
          { preference: 10, host: dead.name },
          { preference: 20, host: alive.name },
        ],
      },
    })
  }
  for (let i = 0; i < 4; i++) {
    const name = builder.company()
    const exchanges = [1, 2].map((n) => ({
      preference: n * 10,
      host: builder.host(`mx${n}.${name}`).name,
    }))
    builder.add({ name, kind: 'all-mx-dead', mail: { kind: 'mx', exchanges } })
  }
}

/** Adds internationalized domain names, as A-labels. */
function addInternational(builder: Builder): void {
  for (const unicode of [
    'mühlenbach-feinkost.de',
    'søndergård-møbler.com',
    'żółta-łódź.pl',
    '高橋陶芸.jp',
  ]) {
    const name = domainToASCII(unicode)
    const host = builder.host(`mx.${name}`, postfix(`mx.${name}`))
    builder.add({
      name,
      kind: 'international',
      mail: { kind: 'mx', exchanges: [{ preference: 10, host: host.name }] },
    })
  }
}
