import { isIP } from 'node:net'
import type { DnsFailure } from './dns-answer.ts'
import { denies } from './dns-chain.ts'
import { exchange, MAX_MESSAGE_BYTES } from './dns-exchange.ts'
import type { DnsServer } from './dns-exchange.ts'
import type { DnsReply, DnsQuestion } from './dns-message.ts'
import type { Egress } from './egress.ts'
import { createRootWatch, type RootWatch, type RootReply } from './root-watch.ts'

/** Time at which a query must end, by the pool's clock, and a signal that ends it sooner. */
export interface QueryDeadline {
  readonly at: number
  readonly signal: AbortSignal
}

/** The configured recursive servers. */
export interface ServerPool {
  /** A usable reply (no error, or no such name), or why no server gave one. */
  ask(
    question: DnsQuestion,
    checkingDisabled: boolean,
    deadline: QueryDeadline,
  ): Promise<DnsReply | DnsFailure>
}

/** Options of a pool of servers. */
export interface ServerPoolOptions {
  readonly servers: readonly string[]
  readonly egress: Egress
  readonly tryMs: number
  readonly now: () => number
  /** Called when a server begins to know the DNS root, or no longer does. */
  readonly onRootChange?: (server: string, knowsRoot: boolean) => void
}

interface Member {
  readonly server: DnsServer
  readonly root: RootWatch
  losses: number
  lastUntil: number
}

const MAX_ROUNDS = 2

/** Priority of failures: a reply of one server tells more than the silence of another. */
const WEIGHT: Readonly<Record<DnsFailure, number>> = {
  servfail: 2,
  no_root: 1,
  refused: 0,
  timeout: 0,
  malformed: 0,
  loop: 0,
  network: 0,
}

const ROOT = '.'

/** A server that failed this many consecutive times is tried last for a while. */
const LOSSES_UNTIL_LAST = 3
const LAST_FOR_MS = 10_000

/**
 * Makes a pool that queries servers in the given order.
 *
 * @throws if `servers` is empty or malformed
 */
export function createServerPool(options: ServerPoolOptions): ServerPool {
  const { now, egress } = options
  const members: Member[] = options.servers.map((text) => {
    const server = parseServer(text)
    const root = createRootWatch({
      ask: () => askForRoot(server, options),
      now,
      changed: (knowsRoot) => options.onRootChange?.(text, knowsRoot),
    })
    return { server, root, losses: 0, lastUntil: 0 }
  })
  if (members.length === 0) throw new Error('resolver: no DNS server is configured')

  async function tryOne(
    member: Member,
    question: DnsQuestion,
    cd: boolean,
    round: number,
    end: QueryDeadline,
  ) {
    const flags = { recursionDesired: true, checkingDisabled: cd }
    const timeoutMs = Math.min(end.at - now(), options.tryMs * (round + 1))
    const result = await exchange(member.server, question, flags, {
      egress,
      timeoutMs,
      maxBytes: MAX_MESSAGE_BYTES,
      signal: end.signal,
    })
    // An aborted query tells nothing about the server.
    const isCut = result.kind === 'failed' && end.signal.aborted
    if (!isCut) {
      member.losses = result.kind === 'failed' ? member.losses + 1 : 0
      if (member.losses >= LOSSES_UNTIL_LAST) member.lastUntil = now() + LAST_FOR_MS
    }
    if (result.kind === 'failed') return result.reason
    const outcome = faultOf(result.reply) ?? result.reply
    // A server without the root can neither deny a name nor report a fault of the name's own
    // servers.
    const isNegative =
      outcome === 'servfail' || (typeof outcome !== 'string' && denies(outcome, question))
    if (!isNegative || question.name === ROOT || (await member.root.knowsRoot())) return outcome
    return 'no_root'
  }

  return {
    async ask(question, checkingDisabled, end) {
      let failure: DnsFailure = 'timeout'
      for (let round = 0; round < MAX_ROUNDS; round++) {
        for (const member of inOrder(members, now())) {
          if (end.at <= now() || end.signal.aborted) return failure
          const result = await tryOne(member, question, checkingDisabled, round, end)
          if (typeof result !== 'string') return result
          if (WEIGHT[result] >= WEIGHT[failure]) failure = result
        }
        // Only lost packets justify a second round.
        if (WEIGHT[failure] > 0 || failure === 'refused') return failure
      }
      return failure
    },
  }
}

/**
 * Queries the name servers of the root, and if there is no reply its SOA: some filters drop the
 * former.
 */
async function askForRoot(server: DnsServer, options: ServerPoolOptions): Promise<RootReply> {
  for (const type of ['NS', 'SOA'] as const) {
    const flags = { recursionDesired: true, checkingDisabled: false }
    const result = await exchange(server, { name: ROOT, type }, flags, {
      egress: options.egress,
      timeoutMs: options.tryMs,
      maxBytes: MAX_MESSAGE_BYTES,
      signal: NEVER,
    })
    if (result.kind === 'failed' || faultOf(result.reply) !== null) continue
    return result.reply.code === 3 ? 'denies' : 'knows'
  }
  return 'silent'
}

/**
 * The query for the root has a time-out only: the caller that began it may leave before others that
 * need it.
 */
const NEVER = new AbortController().signal

function inOrder(members: readonly Member[], now: number): readonly Member[] {
  return members.toSorted((a, b) => Number(a.lastUntil > now) - Number(b.lastUntil > now))
}

function faultOf(reply: DnsReply): DnsFailure | null {
  if (reply.code === 5) return 'refused'
  if (reply.code !== 0 && reply.code !== 3) return 'servfail'
  const referral =
    reply.answers.length === 0 &&
    !reply.authoritative &&
    !reply.recursionAvailable &&
    !reply.authorities.some((record) => record.type === 'SOA')
  return referral && reply.code === 0 ? 'refused' : null
}

function parseServer(text: string): DnsServer {
  const match = /^\[(.+)\](?::(\d{1,5}))?$/.exec(text) ?? /^([\d.]+)(?::(\d{1,5}))?$/.exec(text)
  const address = match?.[1] ?? text
  const port = Number(match?.[2] ?? 53)
  if (isIP(address) === 0 || port < 1 || port > 65_535) {
    throw new Error(`resolver: ${text} is not a DNS server such as 192.0.2.1 or [2001:db8::1]:5353`)
  }
  return { address, port, trusted: true }
}
