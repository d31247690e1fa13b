import { once } from 'node:events'
import { connect } from 'node:net'

/** A request sent over a plain socket. */
export interface RawCall {
  readonly port: number
  readonly head: string
  /**
   * Bytes sent after the head, whatever is received; default none, `Infinity` until disconnected.
   */
  readonly bytes?: number
  /** Whether the client reads while it sends, or sends everything first, as simple clients do. */
  readonly reads?: 'along' | 'after'
}

/** The response received over a plain socket. */
export interface RawResponse {
  /** All received text. */
  readonly text: string
  readonly status: number
  readonly sentBytes: number
  /** System code of the error that ended sending; undefined if everything was sent. */
  readonly fault: string | undefined
}

const BLOCK = Buffer.alloc(256 * 1_024, 'someone@example.com\n')

/** Sends a request, and reads until the end of the connection. */
export async function callRaw(call: RawCall): Promise<RawResponse> {
  const { port, head, bytes = 0, reads = 'along' } = call
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).setMaxListeners(0)
  const over = new AbortController()
  const closed = new Promise<void>((resolve) => {
    socket.once('close', () => {
      over.abort()
      resolve()
    })
  })
  let fault: string | undefined
  socket.on('error', (error) => {
    fault = 'code' in error ? String(error.code) : error.message
  })
  let text = ''
  const read = (): unknown => socket.on('data', (chunk: Buffer) => (text += chunk.toString()))
  if (reads === 'along') read()
  socket.write(head)
  let sentBytes = 0
  while (sentBytes < bytes && !over.signal.aborted) {
    const block = BLOCK.subarray(0, Math.min(BLOCK.length, bytes - sentBytes))
    sentBytes += block.length
    if (!socket.write(block)) await once(socket, 'drain', { signal: over.signal }).catch(() => {})
  }
  if (reads === 'after') read()
  if (bytes > 0 && !over.signal.aborted) socket.end()
  else socket.once('end', () => socket.end())
  await closed
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(text)?.[1])
  return { text, status, sentBytes, fault }
}
