import type { IncomingMessage } from 'node:http'
import type { Readable, Transform } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib'

/** The part of the body that was read. */
export type BodyRead =
  | { readonly kind: 'read'; readonly bytes: Uint8Array; readonly cut: boolean }
  | { readonly kind: 'failed'; readonly detail: string }

/** Maximum number of nested content codings that are decoded. */
const MAX_CODINGS = 2

/**
 * Reads a body of at most `maxBytes`, both before and after decoding gzip, deflate and br. Stops,
 * with `cut`, at the first byte over the limit; a broken or unknown coding is a failure.
 */
export async function readBody(
  message: IncomingMessage,
  maxBytes: number,
  signal: AbortSignal,
): Promise<BodyRead> {
  const codings = (message.headers['content-encoding'] ?? '')
    .split(',')
    .map((coding) => coding.trim().toLowerCase())
    .filter((coding) => coding !== '' && coding !== 'identity')
  if (codings.length > MAX_CODINGS || !codings.every(isKnown)) {
    return { kind: 'failed', detail: 'a content coding that is not known' }
  }
  const packed = await collect(message, maxBytes, signal)
  if (packed.kind === 'failed') return packed
  let result = packed
  for (const coding of codings.toReversed()) {
    const next = await unpack(result.bytes, coding, maxBytes, packed.cut, signal)
    if (next.kind === 'failed') return next
    result = { ...next, cut: next.cut || result.cut }
  }
  return result
}

function isKnown(coding: string): boolean {
  return ['gzip', 'x-gzip', 'deflate', 'br'].includes(coding)
}

function unpack(
  bytes: Uint8Array,
  coding: string,
  maxBytes: number,
  partial: boolean,
  signal: AbortSignal,
): Promise<BodyRead> {
  const stream = unpacker(coding, bytes)
  stream.end(bytes)
  return collect(stream, maxBytes, signal, partial)
}

function unpacker(coding: string, bytes: Uint8Array): Transform {
  if (coding === 'br') return createBrotliDecompress()
  if (coding === 'gzip' || coding === 'x-gzip') return createGunzip()
  // Servers send deflate both in its zlib wrapper (low four bits 8) and bare.
  return ((bytes[0] ?? 8) & 15) === 8 ? createInflate() : createInflateRaw()
}

function collect(
  stream: Readable,
  maxBytes: number,
  signal: AbortSignal,
  keepPartial = false,
): Promise<BodyRead> {
  const { promise, resolve } = Promise.withResolvers<BodyRead>()
  const chunks: Uint8Array[] = []
  let size = 0
  const read = (cut: boolean): BodyRead => ({
    kind: 'read',
    bytes: new Uint8Array(Buffer.concat(chunks)),
    cut,
  })
  const onAbort = (): void => resolve({ kind: 'failed', detail: 'time ran out' })
  signal.addEventListener('abort', onAbort, { once: true })
  stream.on('data', (chunk: Buffer) => {
    const left = maxBytes - size
    size += chunk.length
    chunks.push(chunk.subarray(0, left))
    if (chunk.length <= left) return
    resolve(read(true))
    stream.destroy()
  })
  stream.on('end', () => resolve(read(false)))
  stream.on('error', (error: Error) =>
    resolve(keepPartial ? read(true) : { kind: 'failed', detail: error.message }),
  )
  stream.on('close', () => resolve({ kind: 'failed', detail: 'the body ended early' }))
  return promise.finally(() => signal.removeEventListener('abort', onAbort))
}
