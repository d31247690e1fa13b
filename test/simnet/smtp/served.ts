import type { Counters, HostCounters } from '../counters.ts'
import { createTimes } from '../counters.ts'
import type { Times } from '../counters.ts'
import type { WorldTable } from '../world/table.ts'
import type { MailHost } from '../world/domain.ts'
import type { Profile } from './profile.ts'

/** A running mail host: profile, replies as sent, and state. */
export interface ServedHost extends MailHost {
  readonly world: WorldTable
  readonly profile: Profile
  readonly texts: Texts
  readonly counters: { readonly all: Counters; readonly host: HostCounters }
  readonly group: LimitGroup
  readonly offersTls: boolean
  readonly offersUtf8: boolean
  readonly offersPipelining: boolean
  /** The limit that another recipient would exceed. */
  limited(
    inTransaction: number,
    inSession: number,
  ): 'tooMany' | 'tooFast' | 'tooManyInSession' | undefined
  /** Whether this triplet must still wait; the wait begins with its first RCPT. */
  greylisted(client: string, sender: string, recipient: string): boolean
}

/** State that the hosts of one limit group share. */
export interface LimitGroup {
  open: number
  readonly rcptTimes: Times
}

type Slotted = (address: string) => string

/** Replies with CRLF line ends. */
export interface Texts {
  readonly banner: string
  readonly helo: string
  readonly ehlo: string
  readonly ehloSecure: string
  readonly mail: string
  readonly accepted: Slotted
  readonly missing: Slotted
  readonly full: Slotted
  readonly disabled: Slotted
  readonly busy: Slotted
  readonly relay: Slotted
  readonly greylist: Slotted
  readonly reset: string
  readonly bye: string
  readonly refusal: string
  readonly requiresTls: string
  readonly rejectsAll: string
  readonly oneRecipient: string
  readonly tooMany: string
  readonly tooFast: string
  readonly tooManyInSession: string
  readonly tooManyErrors: string
  readonly tooManyConnections: string
  readonly syntax: string
  readonly unknown: string
  readonly nested: string
  readonly heloFirst: string
  readonly mailFirst: string
  readonly badParameter: string
  readonly needsUtf8: string
  readonly vrfy: string
  readonly tlsReady: string
  readonly tlsRefused: string
  readonly noMessages: string
}

/** Most triplets that a host stores; then the older half is removed. */
const TRIPLETS = 200_000

/** Starts a host. */
export function createServedHost(
  world: WorldTable,
  host: MailHost,
  profile: Profile,
  counters: { readonly all: Counters; readonly host: HostCounters },
  group: LimitGroup,
): ServedHost {
  const { limits } = profile
  const triplets = new Map<string, number>()
  const waitMs = (profile.greylistSeconds ?? 0) * 1000
  return {
    ...host,
    world,
    profile,
    texts: textsOf(profile),
    counters,
    group,
    offersTls: profile.capabilities.includes('STARTTLS'),
    offersUtf8: profile.capabilities.includes('SMTPUTF8'),
    offersPipelining: profile.capabilities.includes('PIPELINING'),
    limited: (inTransaction, inSession) => {
      if (limits === undefined) return undefined
      if (inSession >= (limits.rcptPerConnection ?? Infinity)) return 'tooManyInSession'
      if (inTransaction >= (limits.rcptPerTransaction ?? Infinity)) return 'tooMany'
      if (limits.rcptPerMinute === undefined) return undefined
      const nowMs = Date.now()
      if (group.rcptTimes.within(60_000, nowMs) >= limits.rcptPerMinute) return 'tooFast'
      group.rcptTimes.add(nowMs)
      return undefined
    },
    greylisted: (client, sender, recipient) => {
      const key = `${client} ${sender} ${recipient.toLowerCase()}`
      const nowMs = Date.now()
      const since = triplets.get(key)
      if (since !== undefined) return nowMs - since < waitMs
      if (triplets.size >= TRIPLETS) removeOlderHalf(triplets)
      triplets.set(key, nowMs)
      return true
    },
  }
}

/** A group with all counts at zero. */
export function createLimitGroup(): LimitGroup {
  return { open: 0, rcptTimes: createTimes() }
}

function removeOlderHalf(triplets: Map<string, number>): void {
  let left = triplets.size / 2
  for (const key of triplets.keys()) {
    if (left-- <= 0) return
    triplets.delete(key)
  }
}

function textsOf(profile: Profile): Texts {
  const { replies, capabilities, greeting } = profile
  return {
    banner: crlf(profile.banner),
    helo: crlf(`250 ${greeting}`),
    ehlo: crlf(ehlo(greeting, capabilities)),
    ehloSecure: crlf(
      ehlo(
        greeting,
        capabilities.filter((name) => name !== 'STARTTLS'),
      ),
    ),
    mail: crlf(replies.mail),
    accepted: slotted(replies.accepted),
    missing: slotted(replies.missing),
    full: slotted(replies.full),
    disabled: slotted(replies.disabled),
    busy: slotted(replies.busy),
    relay: slotted(replies.relay),
    greylist: slotted(replies.greylist),
    reset: crlf(replies.reset),
    bye: crlf(replies.bye),
    refusal: crlf(profile.refusal?.reply ?? ''),
    requiresTls: crlf(profile.requiresTls ?? ''),
    rejectsAll: crlf(profile.rejectsAll ?? ''),
    oneRecipient: crlf(
      '451 4.5.3 Recipients belong to multiple regions ATTR38 [DB5PEPF00014B9A.eurprd02.prod.outlook.com]',
    ),
    tooMany: crlf('452 4.5.3 Error: too many recipients'),
    tooFast: crlf(
      '450 4.7.1 Error: too much mail from 127.0.0.1, rate limit exceeded, try again later',
    ),
    tooManyInSession: crlf('421 4.7.0 Error: too many recipients in this session'),
    tooManyErrors: crlf('421 4.7.0 Error: too many errors'),
    tooManyConnections: crlf('421 4.7.0 Error: too many connections from 127.0.0.1'),
    syntax: crlf('501 5.5.4 Syntax error'),
    unknown: crlf('502 5.5.2 Error: command not recognized'),
    nested: crlf('503 5.5.1 Error: nested MAIL command'),
    heloFirst: crlf('503 5.5.1 Error: send HELO/EHLO first'),
    mailFirst: crlf('503 5.5.1 Error: need MAIL command'),
    badParameter: crlf('555 5.5.4 Unsupported option: SMTPUTF8'),
    needsUtf8: crlf('553 5.6.7 Error: a non-ASCII address needs SMTPUTF8'),
    vrfy: crlf('252 2.0.0 Cannot VRFY user'),
    tlsReady: crlf('220 2.0.0 Ready to start TLS'),
    tlsRefused: crlf('454 4.7.0 TLS not available due to local problem'),
    noMessages: crlf('554 5.5.1 Error: no messages are taken here'),
  }
}

function ehlo(greeting: string, capabilities: readonly string[]): string {
  const lines = [greeting, ...capabilities]
  return lines.map((line, i) => `250${i === lines.length - 1 ? ' ' : '-'}${line}`).join('\n')
}

function crlf(text: string): string {
  return text === '' ? '' : `${text.replaceAll('\n', '\r\n')}\r\n`
}

function slotted(text: string): Slotted {
  const whole = crlf(text)
  if (!whole.includes('%s')) return () => whole
  return (address) => whole.replaceAll('%s', () => Buffer.from(address, 'utf8').toString('latin1'))
}
