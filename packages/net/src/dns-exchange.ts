import { randomInt } from 'node:crypto'
import { encodeQuery, readReply } from './dns-message.ts'
import type { DnsReply, QueryFlags, DnsQuestion, Reading } from './dns-message.ts'
import { DialError } from './egress.ts'
import type { Egress } from './egress.ts'

/**
 * A name server: an address literal and a port. It may be this machine, which may serve the zones
 * of its owner.
 */
export interface DnsServer {
  readonly address: string
  readonly port: number
  /** Whether it comes from the settings: it may be private. */
  readonly trusted: boolean
}

/** Result of one query to one server. */
export type Exchange =
  | { readonly kind: 'reply'; readonly reply: DnsReply }
  | { readonly kind: 'failed'; readonly reason: 'timeout' | 'malformed' | 'network' }

/** Limits of one exchange. */
export interface ExchangeLimits {
  readonly egress: Egress
  readonly timeoutMs: number
  /** A larger reply counts as malformed. */
  readonly maxBytes: number
  readonly signal: AbortSignal
}

/** The largest message over TCP, which a length of two bytes allows. */
export const MAX_MESSAGE_BYTES = 65_535

/** Maximum number of unrelated datagrams that are ignored before a server counts as hostile. */
const MAX_FOREIGN = 16

/**
 * Sends one query to one server: UDP from a fresh port with a random id, TCP if the reply is
 * truncated, and once more without EDNS if the server does not support it (RFC 6891 section 7).
 */
export async function exchange(
  server: DnsServer,
  question: DnsQuestion,
  flags: Omit<QueryFlags, 'edns'>,
  limits: ExchangeLimits,
): Promise<Exchange> {
  const started = performance.now()
  const remaining = (): ExchangeLimits => ({
    ...limits,
    timeoutMs: Math.max(1, limits.timeoutMs - (performance.now() - started)),
  })
  let edns = true
  let result = await overUdp(server, question, { ...flags, edns }, limits)
  if (result.kind === 'reply' && knowsNoEdns(result.reply.code)) {
    edns = false
    result = await overUdp(server, question, { ...flags, edns }, remaining())
  }
  if (result.kind === 'reply' && result.reply.truncated) {
    return overTcp(server, question, { ...flags, edns }, remaining())
  }
  return result
}

// 1 is FORMERR, 4 NOTIMP, 16 BADVERS.
function knowsNoEdns(code: number): boolean {
  return code === 1 || code === 4 || code === 16
}

function isCut({ truncated, answers }: DnsReply): boolean {
  return truncated && answers.length === 0
}

function readWithin(maxBytes: number, message: Buffer, id: number, question: DnsQuestion): Reading {
  // A datagram of another server must not end the wait, whatever its size.
  const reading = readReply(message.subarray(0, maxBytes), id, question)
  return message.length > maxBytes && reading.kind === 'reply' ? { kind: 'malformed' } : reading
}

function overUdp(
  server: DnsServer,
  question: DnsQuestion,
  flags: QueryFlags,
  limits: ExchangeLimits,
): Promise<Exchange> {
  const { promise, resolve } = Promise.withResolvers<Exchange>()
  if (limits.signal.aborted) return Promise.resolve({ kind: 'failed', reason: 'timeout' })
  let socket
  try {
    socket = limits.egress.datagram({ ...server, mayBeOwn: true })
  } catch {
    return Promise.resolve({ kind: 'failed', reason: 'network' })
  }
  const id = randomInt(0x1_0000)
  let foreign = 0
  const end = (result: Exchange): void => {
    clearTimeout(timer)
    limits.signal.removeEventListener('abort', onAbort)
    socket.removeAllListeners()
    socket.on('error', () => undefined)
    socket.close()
    resolve(result)
  }
  const onAbort = (): void => end({ kind: 'failed', reason: 'timeout' })
  const timer = setTimeout(onAbort, limits.timeoutMs)
  limits.signal.addEventListener('abort', onAbort, { once: true })
  socket.on('error', () => end({ kind: 'failed', reason: 'network' }))
  socket.on('connect', () => socket.send(encodeQuery(id, question, flags)))
  socket.on('message', (message) => {
    const reading = readWithin(limits.maxBytes, message, id, question)
    if (reading.kind === 'reply') return end(reading)
    // A forged or late datagram must not end the wait for the true one; a malformed one with our id
    // may.
    if (reading.kind === 'malformed' || ++foreign >= MAX_FOREIGN) {
      end({ kind: 'failed', reason: 'malformed' })
    }
  })
  return promise
}

async function overTcp(
  server: DnsServer,
  question: DnsQuestion,
  flags: QueryFlags,
  limits: ExchangeLimits,
): Promise<Exchange> {
  const deadline = performance.now() + limits.timeoutMs
  let socket
  try {
    socket = await limits.egress.dial({ ...server, ...limits, mayBeOwn: true })
  } catch (error) {
    const slow = error instanceof DialError && error.reason !== 'network'
    return { kind: 'failed', reason: slow ? 'timeout' : 'network' }
  }
  const { promise, resolve } = Promise.withResolvers<Exchange>()
  const id = randomInt(0x1_0000)
  const onAbort = (): void => resolve({ kind: 'failed', reason: 'timeout' })
  const timer = setTimeout(onAbort, Math.max(1, deadline - performance.now()))
  limits.signal.addEventListener('abort', onAbort, { once: true })
  const received = Buffer.allocUnsafe(limits.maxBytes + 2)
  let size = 0
  socket.on('data', (chunk: Buffer) => {
    size += chunk.copy(received, size)
    if (size < 2) return
    const end = received.readUInt16BE(0) + 2
    if (end > received.length) return resolve({ kind: 'failed', reason: 'malformed' })
    if (size < end) return
    const reading = readReply(received.subarray(2, end), id, question)
    // One that was cut here too has no records that would mean anything.
    const isUsable = reading.kind === 'reply' && !isCut(reading.reply)
    resolve(isUsable ? reading : { kind: 'failed', reason: 'malformed' })
  })
  socket.on('error', () => resolve({ kind: 'failed', reason: 'network' }))
  socket.on('close', () => resolve({ kind: 'failed', reason: 'network' }))
  const query = encodeQuery(id, question, flags)
  const prefix = Buffer.alloc(2)
  prefix.writeUInt16BE(query.length)
  socket.write(Buffer.concat([prefix, query]))
  try {
    return await promise
  } finally {
    clearTimeout(timer)
    limits.signal.removeEventListener('abort', onAbort)
    socket.destroy()
  }
}
