import { SocksClient } from 'socks'
import type { Socket } from 'node:net'
import type { Egress } from '@plumbline/net/egress'
import { resolverFor, type DnsCaller, type Resolver } from '@plumbline/net/resolver'
import { classifyReply, factsOf } from './classify.ts'
import type { Phase } from './classify.ts'
import { noHostResult, unknownResult, withWait } from './probe-result.ts'
import type { ProbeResult } from './probe-result.ts'
import { maskedText } from './reply-masks.ts'
import { holdNewest } from './hold-newest.ts'
import { findAddresses, hasOtherHosts, type MailHostAddresses } from './mx.ts'
import type { HostsRoute } from './probe-queue.ts'
import { openSession } from './smtp-session.ts'
import type { Opened, Session, SessionTimes } from './smtp-session.ts'
import type { WireFault } from './smtp-wire.ts'

/** Settings and dependencies of a connector. */
export interface ConnectorOptions {
  readonly egress: Egress
  readonly resolver: Resolver
  readonly port: number
  readonly heloName: string
  readonly times: SessionTimes
  /** A SOCKS5 proxy; null for direct connections. */
  readonly proxy: ProxyTarget | null
  readonly signal: AbortSignal
  readonly now: () => number
}

/** A SOCKS5 proxy that connections go through. */
export interface ProxyTarget {
  /** An address literal. */
  readonly address: string
  readonly port: number
  readonly username?: string
  readonly password?: string
}

/** An open session and its host. */
export interface SmtpConnection {
  readonly session: Session
  readonly host: string
  readonly address: string
  /** The address to avoid when the session was opened, if any. */
  readonly avoided: string | undefined
  /** Its place at the address, to be released once it is closed. */
  readonly place: GrantedPlace
}

/**
 * A session with the first host that accepts us, the result that the probes end with, or the addresses
 * of a host at which no place is free, and the milliseconds after which one may be.
 */
export type ConnectResult =
  | { readonly kind: 'connected'; readonly connection: SmtpConnection }
  | { readonly kind: 'full'; readonly addresses: readonly string[]; readonly afterMs: number }
  | {
      readonly kind: 'failed'
      readonly result: ProbeResult
      /** The server refused us before a recipient was named. */
      readonly refusedUs: boolean
      /** The server asked us to slow down: another connection may still be accepted. */
      readonly throttled: boolean
      /** Whether any host accepted a connection; null if no address was tried. */
      readonly reached: boolean | null
      /** A host has replied, and refused us. */
      readonly replied: boolean
    }

/** A place at an address, or the milliseconds after which bulk probes try again. */
export type AddressPlace = GrantedPlace | { readonly granted: false; readonly afterMs: number }

/** A place at an address: the right to one connection to it. */
export interface GrantedPlace {
  readonly granted: true
  /** Releases it, once the connection is closed. */
  release(): Promise<void>
}

/** Callers that wait for a connection while it is being opened. */
export interface ConnectCallers {
  /** Aborts the attempt when nobody waits for it any more. */
  readonly signal: AbortSignal
  /** Called when a host has sent a reply. */
  readonly heard: () => void
  /** For whom hosts are looked up; default: a single call of no account. */
  readonly dns?: DnsCaller
  /** Takes a place for a connection to an address. */
  readonly placeAt: (address: string) => Promise<AddressPlace>
}

type ConnectFailure = ConnectResult & { readonly kind: 'failed' }

/** Milliseconds for which an unreachable host is not tried again. */
const DOWN_MS = 60_000
const DOWN_HELD_MAX = 10_000

/** Makes the function that opens a session for a route. */
export function createConnector(
  options: ConnectorOptions,
): (
  route: HostsRoute,
  provider: string,
  localAddress: string | undefined,
  callers: ConnectCallers,
) => Promise<ConnectResult> {
  const down = new Map<string, number>()
  return async (route, provider, localAddress, callers) => {
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(), options.times.openingMs)
    using _ = { [Symbol.dispose]: () => clearTimeout(timer) }
    const signal = AbortSignal.any([options.signal, callers.signal, late.signal])
    const attempts: Attempt[] = []
    const search = { options, route, localAddress, callers, signal, down, attempts }
    return (await tryHosts(search)) ?? failureOf(attempts, provider, route, options.heloName)
  }
}

/** The hosts of a route, one of which is to be connected to. */
interface Search {
  readonly options: ConnectorOptions
  readonly route: HostsRoute
  readonly localAddress: string | undefined
  readonly callers: ConnectCallers
  readonly signal: AbortSignal
  /** Unreachable addresses, and until when they are not tried. */
  readonly down: Map<string, number>
  /** Filled with what has failed. */
  readonly attempts: Attempt[]
}

/** Tries the hosts in order; null if all have failed. */
async function tryHosts(search: Search): Promise<ConnectResult | null> {
  const { options, route, signal, attempts } = search
  const { dns } = search.callers
  const resolver = dns === undefined ? options.resolver : resolverFor(options.resolver, dns)
  const last: { readonly host: string; readonly addresses: readonly string[] }[] = []
  for (const host of route.hosts) {
    const found = await findAddresses(resolver, options.egress.permits, host, signal)
    if (found.kind !== 'addresses') {
      attempts.push({ ...found, host })
      continue
    }
    const { avoid } = route
    if (avoid !== undefined && found.addresses.includes(avoid))
      last.push({ host, addresses: [avoid] })
    const rest = found.addresses.filter((address) => address !== avoid)
    const result = await tryAddresses(search, host, rest)
    if (result !== null) return result
  }
  for (const { host, addresses } of last) {
    const result = await tryAddresses(search, host, addresses)
    if (result !== null) return result
  }
  return null
}

/**
 * Tries the addresses of a host; null if all have failed. A host of less preference is no substitute
 * for one that only has no place now.
 */
async function tryAddresses(
  search: Search,
  host: string,
  addresses: readonly string[],
): Promise<ConnectResult | null> {
  const full: string[] = []
  let afterMs = 0
  for (const address of addresses) {
    const result = await tryAt(search, host, address)
    if (result === null) continue
    if (result.kind === 'connected') return result
    full.push(address)
    afterMs = Math.max(afterMs, result.afterMs)
  }
  return full.length === 0 ? null : { kind: 'full', addresses: full, afterMs }
}

async function tryAt(
  { options, route, localAddress, callers, signal, down, attempts }: Search,
  host: string,
  address: string,
): Promise<Exclude<ConnectResult, { kind: 'failed' }> | null> {
  const isDown = (down.get(address) ?? 0) > options.now()
  // An address that is not tried for lack of time still exists.
  if (isDown || signal.aborted) {
    const fault = isDown ? 'unreachable' : 'timeout'
    attempts.push({ kind: 'failed_open', host, address, phase: 'connect', fault })
    return null
  }
  const place = await callers.placeAt(address)
  if (!place.granted) return { kind: 'full', addresses: [address], afterMs: place.afterMs }
  let isOpen = false
  try {
    const of = { ...options, heard: callers.heard, signal }
    const opened = await openAt(of, host, address, localAddress)
    if (opened.kind === 'open') {
      isOpen = true
      down.delete(address)
      const connection = { session: opened.session, host, address, avoided: route.avoid, place }
      return { kind: 'connected', connection }
    }
    attempts.push(attemptOf(opened, host, address))
    if (opened.kind === 'failed' && opened.phase === 'connect' && opened.fault !== 'aborted')
      holdNewest(down, address, options.now() + DOWN_MS, DOWN_HELD_MAX)
    return null
  } finally {
    if (!isOpen) await place.release()
  }
}

type Attempt =
  | (Exclude<MailHostAddresses, { kind: 'addresses' }> & { readonly host: string })
  | (Opened & { readonly kind: 'refused' } & { readonly host: string; readonly address: string })
  | {
      readonly kind: 'failed_open'
      readonly host: string
      readonly address: string
      readonly phase: Phase
      readonly fault: WireFault | 'unreachable'
    }

function attemptOf(
  opened: Exclude<Opened, { kind: 'open' }>,
  host: string,
  address: string,
): Attempt {
  if (opened.kind === 'refused') return { ...opened, host, address }
  const { phase, fault } = opened
  return { kind: 'failed_open', host, address, phase, fault }
}

/**
 * The failure of all attempts, reported by the most informative one: a reply, a broken session, no
 * reply, a DNS failure.
 */
function failureOf(
  attempts: readonly Attempt[],
  provider: string,
  route: HostsRoute,
  heloName: string,
): ConnectFailure {
  const implicit = route.implicit ? { implicit_mx: true } : {}
  const refused = attempts.find((attempt) => attempt.kind === 'refused')
  if (refused !== undefined) {
    const { reply, phase } = refused
    const meaning = classifyReply({ ...factsOf(reply), phase, provider, own: [heloName] })
    const evidence = {
      ...placeOf(refused, provider),
      reply_code: reply.code,
      enhanced_code: reply.enhanced,
      reply_text: maskedText(reply.text, ''),
      ...implicit,
    }
    return {
      kind: 'failed',
      result: withWait(meaning, unknownResult(meaning.reason, evidence)),
      refusedUs: meaning.party === 'us' || meaning.party === 'rate',
      throttled: meaning.party === 'rate',
      reached: true,
      replied: true,
    }
  }
  const broken =
    attempts.find((attempt) => attempt.kind === 'failed_open' && attempt.phase !== 'connect') ??
    attempts.find((attempt) => attempt.kind === 'failed_open')
  if (broken !== undefined && broken.kind === 'failed_open') {
    const evidence = { ...placeOf(broken, provider), ...implicit }
    return broken.phase === 'connect'
      ? unanswered(unknownResult('connect_failed', evidence), false)
      : finalFailure(unknownResult(faultReason(broken.fault), evidence), true)
  }
  const names = { provider, ...(attempts[0] === undefined ? {} : { mx_host: attempts[0].host }) }
  const unnamed = attempts.find((attempt) => attempt.kind === 'failed')
  if (unnamed !== undefined) return unanswered(unknownResult(unnamed.why, names), null)
  if (attempts.some((attempt) => attempt.kind === 'unsafe'))
    return finalFailure(unknownResult('unsafe_host', names), null)
  if (hasOtherHosts(route)) return unanswered(unknownResult('connect_failed', names), null)
  // None of the hosts in the records exists: nothing accepts mail.
  return finalFailure(noHostResult('no_mail_host', names), null)
}

/** The host that was tried, and how far, as evidence. */
function placeOf(
  {
    host,
    address,
    phase,
  }: { readonly host: string; readonly address: string; readonly phase: Phase },
  provider: string,
): ProbeResult['evidence'] {
  return { mx_host: host, mx_address: address, provider, phase }
}

/** The outcome reason of a broken session. */
export function faultReason(fault: WireFault | 'unreachable' | null): 'timeout' | 'protocol_error' {
  return fault === 'timeout' || fault === 'aborted' ? 'timeout' : 'protocol_error'
}

/** A failure that another attempt would not change. */
function finalFailure(result: ProbeResult, reached: ConnectFailure['reached']): ConnectFailure {
  return {
    kind: 'failed',
    result,
    refusedUs: false,
    throttled: false,
    reached,
    replied: false,
  }
}

/** A failure that may be caused by the network in between, so that it is retried. */
function unanswered(result: ProbeResult, reached: ConnectFailure['reached']): ConnectFailure {
  const waiting: ProbeResult = { ...result, wait: { cause: 'no_reply', afterMs: 0 } }
  return finalFailure(waiting, reached)
}

function openAt(
  options: ConnectorOptions & Pick<ConnectCallers, 'heard'>,
  host: string,
  address: string,
  localAddress: string | undefined,
): Promise<Opened> {
  const { egress, port, proxy, signal, times, heard } = options
  const dial = async (): Promise<Socket> => {
    if (proxy === null) {
      return egress.dial({
        address,
        port,
        timeoutMs: times.connectMs,
        signal,
        // The mail host of our own domains.
        mayBeOwn: true,
        ...(localAddress === undefined ? {} : { localAddress }),
      })
    }
    return dialThrough(proxy, { address, port }, options)
  }
  return openSession({ dial, host, heloName: options.heloName, times, signal, heard })
}

/**
 * SOCKS5 (RFC 1928) over a connection made by the egress guard; the destination is a checked
 * address literal.
 */
async function dialThrough(
  proxy: ProxyTarget,
  target: { readonly address: string; readonly port: number },
  options: ConnectorOptions,
): Promise<Socket> {
  const { egress, signal, times } = options
  if (!egress.permits(target.address)) throw new Error('not a permitted address')
  const existing = await egress.dial({
    address: proxy.address,
    port: proxy.port,
    timeoutMs: times.connectMs,
    signal,
    trusted: true,
  })
  try {
    const { socket } = await SocksClient.createConnection({
      command: 'connect',
      existing_socket: existing,
      destination: { host: target.address, port: target.port },
      timeout: times.connectMs,
      proxy: {
        host: proxy.address,
        port: proxy.port,
        type: 5,
        ...(proxy.username === undefined ? {} : { userId: proxy.username }),
        ...(proxy.password === undefined ? {} : { password: proxy.password }),
      },
    })
    return socket
  } catch (error) {
    existing.destroy()
    throw error
  }
}
