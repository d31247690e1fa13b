import { SocksClient } from 'socks'
import type { Socket } from 'node:net'
import type { Egress } from '@plumbline/net/egress'
import { resolverFor, type DnsCaller, type Resolver } from '@plumbline/net/resolver'
import { classifyReply, factsOf } from './classify.ts'
import type { Phase } from './classify.ts'
import { maskedText, unknownResult, withWait } from './probe-result.ts'
import type { ProbeResult } from './probe-result.ts'
import { findAddresses, type MailHostAddresses } from './mx.ts'
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
}

/** A session with the first host that accepts us, or the result that the probes end with. */
export type ConnectResult =
  | { readonly kind: 'connected'; readonly connection: SmtpConnection }
  | {
      readonly kind: 'failed'
      readonly result: ProbeResult
      /** The server refused us before a recipient was named. */
      readonly refusedUs: boolean
      /** The server asked us to slow down: another connection may still be accepted. */
      readonly throttled: boolean
      /** No host replied at all. */
      readonly unreachable: boolean
      /** A host has replied, and refused us. */
      readonly replied: boolean
    }

/** Callers that wait for a connection while it is being opened. */
export interface ConnectCallers {
  /** Aborts the attempt when nobody waits for it any more. */
  readonly signal: AbortSignal
  /** Called when a host has sent a reply. */
  readonly heard: () => void
  /** For whom hosts are looked up; default: a single call of no account. */
  readonly dns?: DnsCaller
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
  const { now } = options
  const markDown = (address: string): void => {
    down.set(address, now() + DOWN_MS)
    if (down.size <= DOWN_HELD_MAX) return
    const oldest = down.keys().next()
    if (oldest.done !== true) down.delete(oldest.value)
  }
  return async (route, provider, localAddress, { signal: attended, heard, dns }) => {
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(), options.times.openingMs)
    using _ = { [Symbol.dispose]: () => clearTimeout(timer) }
    const signal = AbortSignal.any([options.signal, attended, late.signal])
    const resolver = dns === undefined ? options.resolver : resolverFor(options.resolver, dns)
    const attempts: Attempt[] = []
    const last: { readonly host: string; readonly address: string }[] = []
    const tryAt = async (host: string, address: string): Promise<SmtpConnection | null> => {
      const isDown = (down.get(address) ?? 0) > now()
      // An address that is not tried for lack of time still exists.
      if (isDown || signal.aborted) {
        const fault = isDown ? 'unreachable' : 'timeout'
        attempts.push({ kind: 'failed_open', host, address, phase: 'connect', fault })
        return null
      }
      const opened = await openAt({ ...options, signal, heard }, host, address, localAddress)
      if (opened.kind === 'open') {
        down.delete(address)
        return { session: opened.session, host, address, avoided: route.avoid }
      }
      if (opened.kind === 'refused') attempts.push({ ...opened, kind: 'refused', host, address })
      else {
        if (opened.phase === 'connect' && opened.fault !== 'aborted') markDown(address)
        attempts.push({
          kind: 'failed_open',
          host,
          address,
          phase: opened.phase,
          fault: opened.fault,
        })
      }
      return null
    }
    for (const host of route.hosts) {
      const found = await findAddresses(resolver, options.egress.permits, host, signal)
      if (found.kind !== 'addresses') {
        attempts.push({ ...found, host })
        continue
      }
      for (const address of found.addresses) {
        if (address === route.avoid) {
          last.push({ host, address })
          continue
        }
        const connection = await tryAt(host, address)
        if (connection !== null) return { kind: 'connected', connection }
      }
    }
    for (const { host, address } of last) {
      const connection = await tryAt(host, address)
      if (connection !== null) return { kind: 'connected', connection }
    }
    return failureOf(attempts, provider, route.implicit, options.heloName)
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

/**
 * The failure of all attempts, reported by the most informative one: a reply, a broken session, no
 * reply, a DNS failure.
 */
function failureOf(
  attempts: readonly Attempt[],
  provider: string,
  implicit: boolean,
  heloName: string,
): ConnectFailure {
  const refused = attempts.find((attempt) => attempt.kind === 'refused')
  if (refused !== undefined) {
    const { reply, phase, host, address } = refused
    const meaning = classifyReply({ ...factsOf(reply), phase, provider, own: [heloName] })
    const evidence = {
      mx_host: host,
      mx_address: address,
      provider,
      phase,
      reply_code: reply.code,
      enhanced_code: reply.enhanced,
      reply_text: maskedText(reply.text, ''),
      ...(implicit ? { implicit_mx: true } : {}),
    }
    return {
      kind: 'failed',
      result: withWait(meaning, unknownResult(meaning.reason, evidence)),
      refusedUs: meaning.party === 'us' || meaning.party === 'rate',
      throttled: meaning.party === 'rate',
      unreachable: false,
      replied: true,
    }
  }
  const broken =
    attempts.find((attempt) => attempt.kind === 'failed_open' && attempt.phase !== 'connect') ??
    attempts.find((attempt) => attempt.kind === 'failed_open')
  if (broken !== undefined && broken.kind === 'failed_open') {
    const { host, address, phase, fault } = broken
    const evidence = {
      mx_host: host,
      mx_address: address,
      provider,
      phase,
      ...(implicit ? { implicit_mx: true } : {}),
    }
    const reason = phase === 'connect' ? 'connect_failed' : faultReason(fault)
    return phase === 'connect'
      ? unanswered(unknownResult(reason, evidence), true)
      : finalFailure(unknownResult(reason, evidence))
  }
  const names = { provider, ...(attempts[0] === undefined ? {} : { mx_host: attempts[0].host }) }
  const unnamed = attempts.find((attempt) => attempt.kind === 'failed')
  if (unnamed !== undefined) return unanswered(unknownResult(unnamed.why, names), false)
  if (attempts.some((attempt) => attempt.kind === 'unsafe'))
    return finalFailure(unknownResult('unsafe_host', names))
  // None of the hosts in the records exists: nothing accepts mail.
  return finalFailure({
    ...unknownResult('no_mail_host', names),
    status: 'undeliverable',
    confidence: 'high',
    smtpValid: false,
  })
}

/** The outcome reason of a broken session. */
export function faultReason(fault: WireFault | 'unreachable' | null): 'timeout' | 'protocol_error' {
  return fault === 'timeout' || fault === 'aborted' ? 'timeout' : 'protocol_error'
}

/** A failure that another attempt would not change. */
function finalFailure(result: ProbeResult): ConnectFailure {
  return {
    kind: 'failed',
    result,
    refusedUs: false,
    throttled: false,
    unreachable: false,
    replied: false,
  }
}

/** A failure that may be caused by the network in between, so that it is retried. */
function unanswered(result: ProbeResult, unreachable: boolean): ConnectFailure {
  const waiting: ProbeResult = { ...result, wait: { cause: 'no_reply', afterMs: 0 } }
  return { ...finalFailure(waiting), unreachable }
}

function openAt(
  options: ConnectorOptions & ConnectCallers,
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
