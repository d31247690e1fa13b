import { SocksClient } from 'socks'
import type { Socket } from 'node:net'
import type { Egress } from '@plumbline/net/egress'
import type { Resolver } from '@plumbline/net/resolver'
import { classifyReply, factsOf } from './classify.ts'
import type { Phase } from './classify.ts'
import { maskedText, unknownFinding, verdictOf } from './finding.ts'
import type { Finding, Verdict } from './finding.ts'
import { findAddresses, type HostAddresses } from './mx.ts'
import type { HostsRoute } from './queue.ts'
import { openSession } from './session.ts'
import type { Opened, Session, SessionTimes } from './session.ts'
import type { WireFault } from './wire.ts'

/** What opening connections needs. */
export interface Dialling {
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

/** An open session and where it goes. */
export interface Line {
  readonly session: Session
  readonly host: string
  readonly address: string
  /** The address that others were tried before, where there was one. */
  readonly avoided: string | undefined
}

/** A session with the first host that lets us in, or what it came to. */
export type Reached =
  | { readonly kind: 'line'; readonly line: Line }
  | {
      readonly kind: 'none'
      readonly verdict: Verdict
      /** The server refused us before a recipient was named. */
      readonly refusedUs: boolean
      /** It asked to go slower: another connection may be served all the same. */
      readonly pressed: boolean
      /** No host answered at all. */
      readonly unreachable: boolean
    }

/** How long a host that could not be reached is not tried again. */
const DOWN_MS = 60_000
const DOWN_HELD_MAX = 10_000

/** Opening all hosts of a domain ends after this, whatever the single times are. */
const OPENING_MS = 60_000

/** Makes the function that opens a session for a route. */
export function createDialler(
  dialling: Dialling,
): (route: HostsRoute, provider: string, localAddress: string | undefined) => Promise<Reached> {
  const down = new Map<string, number>()
  const { now } = dialling
  const markDown = (address: string): void => {
    down.set(address, now() + DOWN_MS)
    if (down.size <= DOWN_HELD_MAX) return
    const oldest = down.keys().next()
    if (oldest.done !== true) down.delete(oldest.value)
  }
  return async (route, provider, localAddress) => {
    const endMs = now() + OPENING_MS
    const met: Attempt[] = []
    const last: { readonly host: string; readonly address: string }[] = []
    const tryAt = async (host: string, address: string): Promise<Line | null> => {
      const isDown = (down.get(address) ?? 0) > now()
      // An address left out for want of time is still one that there is.
      if (isDown || now() > endMs || dialling.signal.aborted) {
        const fault = isDown ? 'unreachable' : 'timeout'
        met.push({ kind: 'failed_open', host, address, phase: 'connect', fault })
        return null
      }
      const opened = await openAt(dialling, host, address, localAddress)
      if (opened.kind === 'open') {
        down.delete(address)
        return { session: opened.session, host, address, avoided: route.avoid }
      }
      if (opened.kind === 'refused') met.push({ ...opened, kind: 'refused', host, address })
      else {
        if (opened.phase === 'connect') markDown(address)
        met.push({ kind: 'failed_open', host, address, phase: opened.phase, fault: opened.fault })
      }
      return null
    }
    for (const host of route.hosts) {
      const found = await findAddresses(
        dialling.resolver,
        dialling.egress.permits,
        host,
        dialling.signal,
      )
      if (found.kind !== 'addresses') {
        met.push({ ...found, host })
        continue
      }
      for (const address of found.addresses) {
        if (address === route.avoid) {
          last.push({ host, address })
          continue
        }
        const line = await tryAt(host, address)
        if (line !== null) return { kind: 'line', line }
      }
    }
    for (const { host, address } of last) {
      const line = await tryAt(host, address)
      if (line !== null) return { kind: 'line', line }
    }
    return judge(met, provider, route.implicit, dialling.heloName)
  }
}

type Attempt =
  | (Exclude<HostAddresses, { kind: 'addresses' }> & { readonly host: string })
  | (Opened & { readonly kind: 'refused' } & { readonly host: string; readonly address: string })
  | {
      readonly kind: 'failed_open'
      readonly host: string
      readonly address: string
      readonly phase: Phase
      readonly fault: WireFault | 'unreachable'
    }

/** The most telling of the attempts: a reply, then a broken dialogue, then silence, then names. */
function judge(
  met: readonly Attempt[],
  provider: string,
  implicit: boolean,
  heloName: string,
): Reached & { kind: 'none' } {
  const refused = met.find((attempt) => attempt.kind === 'refused')
  if (refused !== undefined) {
    const { reply, phase, host, address } = refused
    const said = classifyReply({ ...factsOf(reply), phase, provider, own: [heloName] })
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
      kind: 'none',
      verdict: verdictOf(said, unknownFinding(said.reason, evidence)),
      refusedUs: said.party === 'us' || said.party === 'rate',
      pressed: said.party === 'rate',
      unreachable: false,
    }
  }
  const broken =
    met.find((attempt) => attempt.kind === 'failed_open' && attempt.phase !== 'connect') ??
    met.find((attempt) => attempt.kind === 'failed_open')
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
      ? silent(unknownFinding(reason, evidence), true)
      : unheard(unknownFinding(reason, evidence))
  }
  const names = { provider, ...(met[0] === undefined ? {} : { mx_host: met[0].host }) }
  const unnamed = met.find((attempt) => attempt.kind === 'failed')
  if (unnamed !== undefined) return silent(unknownFinding(unnamed.why, names), false)
  if (met.some((attempt) => attempt.kind === 'unsafe'))
    return unheard(unknownFinding('unsafe_host', names))
  // Every host that the records name does not exist: there is nobody to take mail.
  return unheard({
    ...unknownFinding('no_mail_host', names),
    status: 'undeliverable',
    confidence: 'high',
    smtpValid: false,
  })
}

/** The reason that a fault of the dialogue gives. */
export function faultReason(fault: WireFault | 'unreachable' | null): 'timeout' | 'protocol_error' {
  return fault === 'timeout' || fault === 'aborted' ? 'timeout' : 'protocol_error'
}

function unheard(finding: Finding): Reached & { kind: 'none' } {
  const verdict: Verdict = { kind: 'finding', finding }
  return { kind: 'none', verdict, refusedUs: false, pressed: false, unreachable: false }
}

function silent(finding: Finding, unreachable: boolean): Reached & { kind: 'none' } {
  const verdict: Verdict = { kind: 'wait', cause: 'silence', afterMs: 0, finding }
  return { kind: 'none', verdict, refusedUs: false, pressed: false, unreachable }
}

function openAt(
  dialling: Dialling,
  host: string,
  address: string,
  localAddress: string | undefined,
): Promise<Opened> {
  const { egress, port, proxy, signal, times } = dialling
  const dial = async (): Promise<Socket> => {
    if (proxy === null) {
      return egress.dial({
        address,
        port,
        timeoutMs: times.connectMs,
        signal,
        ...(localAddress === undefined ? {} : { localAddress }),
      })
    }
    return dialThrough(proxy, { address, port }, dialling)
  }
  return openSession({ dial, host, heloName: dialling.heloName, times, signal })
}

/** SOCKS5 (RFC 1928) over a connection that the guard made; the far address is a checked literal. */
async function dialThrough(
  proxy: ProxyTarget,
  target: { readonly address: string; readonly port: number },
  dialling: Dialling,
): Promise<Socket> {
  const { egress, signal, times } = dialling
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
