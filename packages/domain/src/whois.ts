import { type HostAddresses, resolveAddresses } from '@plumbline/net/resolve-addresses'
import { DialError } from '@plumbline/net/egress'
import type { Egress } from '@plumbline/net/egress'
import type { Resolver } from '@plumbline/net/resolver'
import { readName } from './name.ts'

/** Network access to WHOIS servers. */
export interface WhoisNet {
  readonly egress: Egress
  readonly resolver: Resolver
  readonly port: number
  /** Time-out of connection and reply together, shared by the server's addresses. */
  readonly timeoutMs: number
}

/** The reply of one server, or why there is none. */
export type WhoisAnswer =
  | {
      readonly kind: 'reply'
      readonly text: string
      /** Whether the server ended the reply: it was neither cut nor its connection reset. */
      readonly isWhole: boolean
    }
  | { readonly kind: 'failed'; readonly fault: string; readonly busy: boolean }

const MAX_BYTES = 256_000
const MAX_ADDRESSES = 2

/**
 * Sends one server one query line (RFC 3912) and reads until it closes. A reply beyond the size
 * limit is cut; one that times out is no reply. The text is decoded as UTF-8 if valid, else
 * Latin-1. Never throws.
 */
export async function askWhois(
  host: string,
  query: string,
  net: WhoisNet,
  signal: AbortSignal,
): Promise<WhoisAnswer> {
  if (!isHost(host)) return failed('not a host name')
  const limit = AbortSignal.any([signal, AbortSignal.timeout(net.timeoutMs)])
  const found = await resolveAddresses(net.resolver, host, { signal: limit })
  if (found.kind !== 'addresses') return failed('the server has no address', isSilent(found))
  let answer = failed('the server has no usable address')
  const addresses = found.addresses.slice(0, MAX_ADDRESSES)
  // A dead address leaves time for the next.
  const connectMs = net.timeoutMs / addresses.length
  for (const address of addresses) {
    answer = await exchange(address, query, { ...net, timeoutMs: connectMs }, limit)
    if (answer.kind === 'reply') break
  }
  return answer
}

// If our own resolver does not know the root, the server was not asked: it may be up or down.
function isSilent(found: HostAddresses): boolean {
  return found.kind === 'failed' && found.reason !== 'no_root'
}

/** Whether a text from a referral can be a host name: nothing else is ever resolved. */
export function isHost(text: string): boolean {
  return readName(text).kind === 'name'
}

async function exchange(
  address: string,
  query: string,
  net: WhoisNet,
  signal: AbortSignal,
): Promise<WhoisAnswer> {
  let socket
  try {
    socket = await net.egress.dial({
      address,
      port: net.port,
      timeoutMs: net.timeoutMs,
      signal,
    })
  } catch (error) {
    const reason = error instanceof DialError ? error.reason : 'network'
    return failed(`connection: ${reason}`, reason !== 'forbidden')
  }
  const { promise, resolve } = Promise.withResolvers<WhoisAnswer>()
  const chunks: Buffer[] = []
  let size = 0
  const reply = (isWhole: boolean): void =>
    resolve({ kind: 'reply', text: decode(Buffer.concat(chunks)), isWhole })
  const onAbort = (): void => resolve(failed('time ran out', true))
  signal.addEventListener('abort', onAbort, { once: true })
  if (signal.aborted) onAbort()
  socket.on('data', (chunk: Buffer) => {
    chunks.push(chunk.subarray(0, MAX_BYTES - size))
    size += chunk.length
    if (size >= MAX_BYTES) reply(false)
  })
  socket.on('end', () => reply(true))
  // Many servers reset the connection behind their last byte.
  socket.on('error', () => (size > 0 ? reply(false) : resolve(failed('connection reset', true))))
  socket.on('close', () => (size > 0 ? reply(false) : resolve(failed('connection closed', true))))
  socket.write(`${query}\r\n`)
  try {
    return await promise
  } finally {
    signal.removeEventListener('abort', onAbort)
    socket.destroy()
  }
}

function decode(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return bytes.toString('latin1')
  }
}

function failed(fault: string, busy = false): WhoisAnswer {
  return { kind: 'failed', fault, busy }
}
