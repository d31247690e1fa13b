import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { magicAnswer } from '@plumbline/contract/magic'
import {
  MAGIC_DOMAINS,
  MAGIC_EMAILS,
  MAGIC_IPS,
  MAGIC_PHONES,
} from '@plumbline/contract/magic-values'
import type { BareOutcome, DomainFacts, Outcome, Signal } from '@plumbline/contract/outcome'
import type { Check, Depth } from '@plumbline/contract/products'
import type { Reason } from '@plumbline/contract/reasons'
import { expect, onTestFinished, test } from 'vitest'
import { badNameOutcome, domainOutcome, NO_DNS, NO_MAIL } from '@plumbline/domain/outcome'
import { UNKNOWN } from '@plumbline/domain/registration'
import { classifyReply } from '@plumbline/email/classify'
import { noHostResult, resultOfReply } from '@plumbline/email/probe-result'
import { unknownResult, type ProbeResult } from '@plumbline/email/probe-result'
import { mailboxOutcome, syntaxOutcome } from '@plumbline/email/outcome'
import { parseMailbox } from '@plumbline/email/syntax'
import { createIpEngine } from '@plumbline/ip/engine'
import { buildMmdb } from '@plumbline/datasets/mmdb-fixture'
import * as hlr from '@plumbline/phone/hlr-fixture'

// Each magic value against the outcome of its reason as the engines make it.

const NOW = new Date('2026-01-01T00:00:00Z')

function magicOutcome<C extends Check>(check: C, value: string, depth: Depth): Outcome<C> {
  const answer = magicAnswer(check, value, depth)
  if (answer.kind !== 'outcome') throw new Error(`${value} has no outcome`)
  return answer.outcome
}

function bare<C extends Check>({ status, reason, facts }: BareOutcome<C>): object {
  const { signals, ...rest } = { signals: [] as readonly Signal[], ...facts }
  // Which list sets a signal is part of the evidence.
  return { status, reason, ...rest, signals: signals.map(({ group, code }) => `${group}.${code}`) }
}

/** Replies to RCPT for each reason; the reason decides which sample is read. */
const REPLIES: Partial<Record<Reason<'email'>, readonly [code: number, text: string]>> = {
  accepted: [250, '2.1.5 ok'],
  accept_all: [250, '2.1.5 ok'],
  accept_means_nothing: [250, '2.1.5 ok'],
  accepted_exists: [
    450,
    '4.2.1 The user you are trying to contact is receiving mail at a rate that prevents more',
  ],
  mailbox_not_found: [550, '5.1.1 Recipient address rejected: User unknown'],
  mailbox_disabled: [550, '5.2.1 this account has been disabled'],
  mailbox_full: [552, '5.2.2 mailbox is full'],
  relay_denied: [554, '5.7.1 Relay access denied'],
  greylisted: [450, '4.2.0 Greylisted, try again in 60 seconds'],
  blocked: [554, '5.7.1 Service unavailable; client host blocked using zen.spamhaus.org'],
  rate_limited: [450, '4.7.1 Too many messages, slow down: rate limit exceeded'],
  server_error: [451, '4.3.0 Temporary system problem'],
  unclassified_reply: [550, 'Requested action not taken'],
}

function liveResult(reason: Reason<'email'>, depth: Depth): ProbeResult {
  if (reason === 'no_domain' || reason === 'null_mx' || reason === 'no_mail_host') {
    return noHostResult(reason)
  }
  const reply = REPLIES[reason]
  if (reply === undefined) return unknownResult(reason)
  const [code, text] = reply
  const met = classifyReply({ phase: 'rcpt', provider: 'mx.magic.test', code, text })
  // A real name that is refused proves that not all are accepted.
  const proves = met.mailbox === 'missing' || (met.mailbox === 'accepted' && depth === 'extended')
  if (reason === 'accept_all') return resultOfReply(met, 'yes', 'mailbox', {})
  if (reason === 'accept_means_nothing') return resultOfReply(met, 'unknown', 'nothing', {})
  return resultOfReply(met, proves ? 'no' : 'unknown', 'mailbox', {})
}

function liveEmail(
  value: string,
  reason: Reason<'email'>,
  depth: Depth,
  flags: readonly string[],
): Outcome<'email'> {
  const when = { cached: false, checkedAt: NOW.toISOString(), durationMs: 0, tries: 0 }
  if (reason === 'invalid_syntax') {
    const mailbox = parseMailbox('no mailbox')
    if (mailbox.ok) throw new Error('expected no mailbox')
    return syntaxOutcome(value, mailbox, null, when)
  }
  const mailbox = parseMailbox(value)
  if (!mailbox.ok) throw new Error(`${value} is no mailbox`)
  const judgement = {
    disposable: flags.includes('disposable'),
    free: flags.includes('freeProvider'),
    relay: false,
    source: null,
  }
  const listed = {
    judgement,
    role: flags.includes('roleAccount'),
    trap: flags.includes('spamTrap') ? 'spam-trap@' : null,
    didYouMean: null,
    listVersion: null,
  }
  return mailboxOutcome(value, mailbox, liveResult(reason, depth), listed, when)
}

test.each(MAGIC_EMAILS)(
  '$value has the outcome that engines give for $reason',
  ({ value, reason, facts }) => {
    for (const depth of ['basic', 'extended'] as const) {
      const live = liveEmail(value, reason, depth, Object.keys(facts ?? {}))
      expect(bare(magicOutcome('email', value, depth))).toEqual(bare(live))
    }
  },
)

type PhoneReplies = readonly [number: string, reply: hlr.Reply | null, signal?: AbortSignal]

const ofStatus =
  (word: string, more: object = {}): hlr.Reply =>
  () =>
    hlr.json({ ...hlr.connected(), connectivity_status: word, ...more })

/** How a reason arises: a number, and the provider's replies; null: there is no provider. */
const PHONE_REPLIES: Readonly<Record<Reason<'phone'>, PhoneReplies>> = {
  hlr_connected: [hlr.MOBILE, ofStatus('CONNECTED')],
  hlr_absent: [hlr.MOBILE, ofStatus('ABSENT')],
  hlr_unknown_subscriber: [hlr.MOBILE, ofStatus('INVALID_MSISDN')],
  hlr_undetermined: [hlr.MOBILE, ofStatus('UNDETERMINED', { is_ported: null, is_roaming: null })],
  hlr_in_doubt: [hlr.MOBILE, () => hlr.failed('timeout', true)],
  hlr_not_applicable: ['+41443643532', ofStatus('CONNECTED')],
  hlr_paused: [hlr.MOBILE, () => hlr.status(402)],
  hlr_failed: [hlr.MOBILE, () => hlr.status(400)],
  hlr_throttled: [hlr.MOBILE, () => hlr.status(502)],
  no_hlr_provider: ['+12024561111', null],
  impossible_number: ['+999', null],
  invalid_number: ['+447700900123', null],
  timeout: [hlr.MOBILE, ofStatus('CONNECTED'), AbortSignal.abort()],
}

/** A number's own place and carrier are compared only by whether they are known. */
function placeless({ facts, ...outcome }: BareOutcome<'phone'>): object {
  const { number: _, country, countryCode, nationalFormat, carrier, carrierCountry } = facts
  const place = { country, countryCode, nationalFormat, carrier, carrierCountry }
  const known = Object.entries(place).map(([name, value]) => [name, value !== null])
  return { ...bare({ ...outcome, facts }), number: null, ...Object.fromEntries(known) }
}

test.each(MAGIC_PHONES)(
  '$value has the outcome that engines give for $reason',
  async ({ value, reason }) => {
    const [number, reply, signal] = PHONE_REPLIES[reason]
    const fixture = hlr.createHlrFixture(reply ?? undefined)
    await using engine = await hlr.engineOf(fixture, reply === null ? [] : [hlr.FIRST])
    const [live] = await hlr.ask(engine, [number], signal === undefined ? {} : { signal })
    if (live?.kind !== 'outcome') throw new Error('expected an outcome')
    const row = MAGIC_PHONES.find((each) => each.reason === reason)
    const magic = magicOutcome('phone', row?.value ?? value, 'basic')
    expect(placeless(magic)).toEqual(placeless(live))
    // Further values of a reason differ in the facts that they demonstrate.
    expect(magicOutcome('phone', value, 'basic')).toMatchObject({
      status: live.status,
      facts: { valid: live.facts.valid, reachable: live.facts.reachable },
    })
  },
)

/** The list that sets each flag, and an address that only this list contains. */
const FLAG_LISTS = {
  isVpn: 'vpn',
  isProxy: 'proxy',
  isTor: 'tor',
  isDatacenter: 'datacenter',
  isRelay: 'relay',
} as const

test.each(MAGIC_IPS)(
  '$value has the outcome that engines give for $reason',
  async ({ value, reason, facts = {} }) => {
    const dir = await mkdtemp(join(tmpdir(), 'magic-ip-'))
    onTestFinished(() => rm(dir, { recursive: true }))
    const subject =
      reason === 'not_routable' ? '10.0.0.1' : reason === 'no_data' ? '6.6.6.6' : '5.1.2.3'
    for (const [flag, list] of Object.entries(FLAG_LISTS)) {
      const isSet = reason === 'located' && Object.hasOwn(facts, flag)
      await writeFile(join(dir, `${list}.txt`), isSet ? '5.1.2.3\n' : '7.7.7.7\n')
    }
    const record = {
      country: { iso_code: 'NO', names: { en: 'Norway' } },
      subdivisions: [{ names: { en: 'Oslo' } }],
      city: { names: { en: 'Oslo' } },
      location: { latitude: 59.9, longitude: 10.7, time_zone: 'Europe/Oslo' },
      autonomous_system_number: 64_496,
      autonomous_system_organization: 'Networks',
    }
    await writeFile(join(dir, 'city.mmdb'), buildMmdb({ '5.0.0.0/8': record }))
    const cityDb = join(dir, 'city.mmdb')
    const silent = (): void => undefined
    await using engine = await createIpEngine({
      cityDb,
      asnDb: cityDb,
      listsDir: dir,
      refreshMs: 0,
      log: { debug: silent, info: silent, warn: silent, error: silent },
    })
    const [live] = await engine.run({
      subjects: [subject],
      depth: 'basic',
      lane: 'live',
      account: 't',
      signal: reason === 'timeout' ? AbortSignal.abort() : new AbortController().signal,
    })
    if (live?.kind !== 'outcome') throw new Error('expected an outcome')
    expect(addressless(magicOutcome('ip', value, 'basic'))).toEqual(addressless(live))
  },
)

/** An address's own place and network are compared only by whether they are known. */
function addressless({ facts, ...outcome }: BareOutcome<'ip'>): object {
  const { country, countryCode, region, city, latitude, longitude, timezone, isp, asn } = facts
  const place = { country, countryCode, region, city, latitude, longitude, timezone, isp, asn }
  const known = Object.entries(place).map(([name, value]) => [name, value !== null])
  return { ...bare({ ...outcome, facts }), ip: null, ...Object.fromEntries(known) }
}

const REGISTERED: Readonly<Record<Reason<'domain'>, boolean | null>> = {
  registered: true,
  registration_lapsed: false,
  unregistered: false,
  invalid_name: false,
  public_suffix: false,
  no_registry_data: null,
  registry_throttled: null,
  registry_failed: null,
  dns_unavailable: null,
  timeout: null,
}

function liveDomain(
  value: string,
  reason: Reason<'domain'>,
  facts: DomainFacts,
): Outcome<'domain'> {
  const stamp = { now: NOW, durationMs: 0 }
  if (reason === 'invalid_name') {
    return badNameOutcome(value, { kind: 'bad', fault: 'empty' }, stamp)
  }
  if (reason === 'public_suffix') {
    return badNameOutcome(value, { kind: 'bad', fault: 'public_suffix' }, stamp)
  }
  const registered = REGISTERED[reason]
  const told = { registrar: facts.registrar, created: facts.createdDate, expires: facts.expiryDate }
  const lapsed = { ...told, statuses: ['redemption period', 'pending delete'] }
  const kept = registered === true ? told : reason === 'registration_lapsed' ? lapsed : {}
  const found = {
    name: {
      kind: 'name',
      ascii: value,
      unicode: value,
      registrable: value,
      suffix: 'test',
      tld: 'test',
    },
    registration: { ...UNKNOWN, ...kept, registered, reason },
    cached: false,
    dns: { ...NO_DNS, mxFound: facts.mxFound, resolves: facts.dnsHealthy },
    mail: { ...NO_MAIL, spfFound: facts.spfFound, dmarcFound: facts.dmarcFound },
    disposable: facts.disposable,
    parked: { parked: facts.parked, signs: [] },
  } as const
  return domainOutcome(value, found, stamp)
}

test.each(MAGIC_DOMAINS)(
  '$value has the outcome that engines give for $reason',
  ({ value, reason }) => {
    const magic = magicOutcome('domain', value, 'basic')
    expect(bare(magic)).toEqual(bare(liveDomain(value, reason, magic.facts)))
  },
)
