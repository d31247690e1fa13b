import type { Log } from '@plumbline/ports/log'
import { createSocket } from 'node:dgram'
import type { Socket as DatagramSocket } from 'node:dgram'
import { connect as connectTcp } from 'node:net'
import type { Socket } from 'node:net'
import { checkServerIdentity, connect as connectTls, createSecureContext } from 'node:tls'
import type { SecureContext, TLSSocket } from 'node:tls'
import { blockHolds, parseAddress, parseBlock } from './address.ts'
import type { IpAddress, IpBlock } from './address.ts'
import { createOwnAddresses } from './own-addresses.ts'
import { embeddedIpv4, specialBlockOf } from './special-addresses.ts'

/** Destination of a connection: always an address literal, never a name. */
export interface Target {
  readonly transport: 'tcp' | 'udp'
  readonly address: string
  readonly port: number
  /** The source address; TCP only. */
  readonly localAddress?: string
}

/** The only functions that open outward sockets; tests replace them to count attempts. */
export interface Connectors {
  tcp(target: Target): Socket
  /** Opens a socket that only receives from the target. */
  udp(target: Target): DatagramSocket
}

/** Options of the guard, and the functions by which it connects. */
export interface EgressOptions {
  /** CIDRs that are allowed though they are special-purpose or this machine's own. */
  readonly allow: readonly string[]
  readonly connect?: Partial<Connectors>
  /** Whether an address is this machine's own; default: one of its interfaces has it. */
  readonly isOwn?: (address: IpAddress) => boolean
  readonly log?: Pick<Log, 'debug' | 'warn'>
}

/** TLS options of a connection. */
export interface TlsRequest {
  /** The name or address expected in the certificate, if that is verified; a name is sent as SNI. */
  readonly servername: string
  /** Whether an invalid certificate ends the connection; default true. */
  readonly verify?: boolean
}

/** A connection to open. */
export interface DialRequest {
  readonly address: string
  readonly port: number
  readonly localAddress?: string
  readonly timeoutMs: number
  readonly signal: AbortSignal
  readonly tls?: TlsRequest
  /** Whether the address comes from the settings: it may be private. */
  readonly trusted?: boolean
  /** Whether the address may be one of this machine's own; default false. */
  readonly mayBeOwn?: boolean
}

/** Target of datagrams; `trusted` and `mayBeOwn` as in a `DialRequest`. */
export interface DatagramRequest {
  readonly address: string
  readonly port: number
  readonly trusted?: boolean
  readonly mayBeOwn?: boolean
}

/** Why a connection could not be made. */
export type DialReason = 'forbidden' | 'timeout' | 'aborted' | 'network' | 'tls'

/** Thrown by `dial`, `datagram` and `secure`; the cause is the system's error. */
export class DialError extends Error {
  override readonly name = 'DialError'
  readonly reason: DialReason

  constructor(reason: DialReason, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.reason = reason
  }
}

/** The guard of every outward socket. */
export interface Egress {
  /**
   * Whether an address literal may be connected to: an ordinary public address, which may also be
   * one of this machine's own, or an allowed one.
   */
  permits(address: string): boolean
  /** Whether the operator's allow list contains the address. */
  allowed(address: string): boolean
  /**
   * Opens a TCP (or TLS) connection. Own addresses of this machine are refused unless they are
   * allowed, or the request permits them.
   *
   * @throws DialError
   */
  dial(request: DialRequest): Promise<Socket>
  /**
   * Opens a UDP socket bound to one peer, as `dial` does. Later errors are its `error` event.
   *
   * @throws DialError
   */
  datagram(target: DatagramRequest): DatagramSocket
}

/**
 * Metadata services outside of the special-purpose registries. Source: learn.microsoft.com, "What
 * is IP address 168.63.129.16" (2025). The others (169.254.169.254, fd00:ec2::254, 100.100.100.200,
 * 192.0.0.192) lie in special blocks.
 */
const METADATA_ADDRESSES: readonly string[] = ['168.63.129.16']

/**
 * Makes the guard. Refused unless allowed: every block of the special-purpose table, whatever its
 * reachability (no public server is there), every IPv6 address with an embedded IPv4 one except the
 * mapped form of a public address, metadata services, and the addresses of this machine's own
 * interfaces: a connection from the machine to itself passes no firewall in front of it, and its
 * servers may trust it.
 *
 * @throws if `allow` holds anything but CIDRs
 */
export function createEgress(options: EgressOptions): Egress {
  const allow = options.allow.map(allowedBlock)
  const connectors: Connectors = {
    tcp: options.connect?.tcp ?? openTcp,
    udp: options.connect?.udp ?? openUdp,
  }
  const allowed = (address: string): boolean => holdsAny(allow, canonical(address))
  const isOwn =
    options.isOwn ??
    createOwnAddresses({
      onError: (error) => options.log?.warn({ err: error }, 'network interfaces cannot be read'),
    })
  const isPermitted = (address: string, mayBeOwn: boolean): boolean => {
    const canonicalAddress = canonical(address)
    if (canonicalAddress === null) return false
    if (holdsAny(allow, canonicalAddress)) return true
    return isOrdinary(canonicalAddress) && (mayBeOwn || !isOwn(canonicalAddress))
  }
  const guard = ({ address, port, trusted = false, mayBeOwn = false }: DatagramRequest): void => {
    if (trusted ? parseAddress(address) !== null : isPermitted(address, mayBeOwn)) return
    options.log?.debug({ port }, 'refused to dial a special or own address')
    throw new DialError('forbidden', `not a permitted address for port ${port}`)
  }
  return {
    permits: (address) => isPermitted(address, true),
    allowed,
    async dial(request) {
      guard(request)
      const socket = await establish(connectors, request)
      try {
        assertSamePeer(request.address, socket)
        if (request.tls === undefined) return socket
        return await secure(socket, { ...request.tls, ...timing(request) })
      } catch (error) {
        socket.destroy()
        throw error
      }
    },
    datagram(target) {
      guard(target)
      return connectors.udp({ transport: 'udp', address: target.address, port: target.port })
    },
  }
}

/**
 * TLS settings shared by all connections: creating them for each would cost a part of the
 * handshake.
 */
let trust: SecureContext | undefined

/**
 * Starts TLS on an open connection, as STARTTLS needs it.
 *
 * @throws DialError
 */
export async function secure(
  socket: Socket,
  request: TlsRequest & { readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<TLSSocket> {
  trust ??= createSecureContext()
  const tls = connectTls({
    socket,
    secureContext: trust,
    servername: parseAddress(request.servername) === null ? request.servername : '',
    // An address is no SNI (RFC 6066 3), and without one Node would expect the name "localhost".
    checkServerIdentity: (_name, certificate) =>
      checkServerIdentity(request.servername, certificate),
    rejectUnauthorized: request.verify ?? true,
  })
  try {
    await settled(tls, 'secureConnect', request, 'tls')
    return tls
  } catch (error) {
    tls.destroy()
    throw error
  }
}

async function establish(connectors: Connectors, request: DialRequest): Promise<Socket> {
  if (request.signal.aborted) throw new DialError('aborted', 'the run ended')
  const socket = connectors.tcp({
    transport: 'tcp',
    address: request.address,
    port: request.port,
    ...(request.localAddress === undefined ? {} : { localAddress: request.localAddress }),
  })
  try {
    await settled(socket, 'connect', request, 'network')
  } catch (error) {
    socket.destroy()
    throw error
  }
  return socket
}

async function settled(
  socket: Socket,
  event: 'connect' | 'secureConnect',
  limits: { readonly timeoutMs: number; readonly signal: AbortSignal },
  failure: 'network' | 'tls',
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const onError = (cause: Error): void =>
    reject(new DialError(failure, `${failure}: ${cause.message}`, { cause }))
  const onClose = (): void => reject(new DialError(failure, 'the peer closed the connection'))
  const onAbort = (): void => reject(new DialError('aborted', 'the run ended'))
  const timer = setTimeout(
    () => reject(new DialError('timeout', `no ${event} within ${limits.timeoutMs} ms`)),
    limits.timeoutMs,
  )
  limits.signal.addEventListener('abort', onAbort, { once: true })
  if (limits.signal.aborted) onAbort()
  socket.once(event, resolve)
  socket.once('error', onError)
  socket.once('close', onClose)
  // An error without a listener must not end the process; `close` reports the error too.
  socket.on('error', () => undefined)
  try {
    await promise
  } finally {
    clearTimeout(timer)
    limits.signal.removeEventListener('abort', onAbort)
    socket.off(event, resolve)
    socket.off('error', onError)
    socket.off('close', onClose)
  }
}

// The kernel reports the actual peer, in case a proxy or a NAT rule of the host has changed it.
function assertSamePeer(address: string, socket: Socket): void {
  const asked = canonical(address)
  const actual = socket.remoteAddress === undefined ? null : canonical(socket.remoteAddress)
  if (asked === null || actual === null || asked.value !== actual.value) {
    throw new DialError('forbidden', 'the connection went to another address')
  }
}

function timing(request: DialRequest): { timeoutMs: number; signal: AbortSignal } {
  return { timeoutMs: request.timeoutMs, signal: request.signal }
}

function canonical(text: string): IpAddress | null {
  const address = parseAddress(text)
  if (address === null) return null
  const inner = embeddedIpv4(address)
  return inner?.form === 'mapped' ? inner.address : address
}

function isOrdinary(address: IpAddress): boolean {
  return specialBlockOf(address) === null && !holdsAny(METADATA_BLOCKS, address)
}

function holdsAny(blocks: readonly IpBlock[], address: IpAddress | null): boolean {
  return address !== null && blocks.some((block) => blockHolds(block, address))
}

function allowedBlock(text: string): IpBlock {
  const block = parseBlock(text.trim())
  if (block === null) throw new Error(`egress allow list: ${text} is not a CIDR such as 10.0.0.0/8`)
  return block
}

const METADATA_BLOCKS: readonly IpBlock[] = METADATA_ADDRESSES.map(allowedBlock)

function openTcp(target: Target): Socket {
  return connectTcp({
    host: target.address,
    port: target.port,
    autoSelectFamily: false,
    ...(target.localAddress === undefined ? {} : { localAddress: target.localAddress }),
  })
}

function openUdp(target: Target): DatagramSocket {
  const socket = createSocket({
    type: parseAddress(target.address)?.version === 6 ? 'udp6' : 'udp4',
    // The target is a literal; the system's resolver must never be used.
    lookup: (hostname, _options, callback) =>
      callback(null, hostname, parseAddress(hostname)?.version ?? 4),
  })
  socket.connect(target.port, target.address)
  return socket
}
