import { connect, type Socket } from 'node:net'

/** A client of bare bytes that decides when it reads. */
export interface SlowReader {
  readonly socket: Socket
  /** What came so far. */
  text(): string
  /** Status of the first answer; undefined before it has come. */
  status(): number | undefined
  /** Resolves once the connection is over, however it ended. */
  readonly closed: Promise<void>
  /** Reads all that still comes. */
  readOn(): void
}

/** How a client asks and reads. */
export interface SlowReaderOptions {
  readonly url: string
  /** The requests, one after the other. */
  readonly requests: string
  /** What it reads before it stops to read; all by default. */
  readonly bytes?: number
  /** What it keeps of what it reads; all by default. */
  readonly keptBytes?: number
}

/** Opens a connection, asks, and stops reading once so many bytes have come. */
export function openSlowReader(options: SlowReaderOptions): SlowReader {
  const { url, requests, bytes = Infinity, keptBytes = Infinity } = options
  const { port, hostname } = new URL(url)
  const socket = connect({ port: Number(port), host: hostname })
  socket.on('error', () => undefined)
  let text = ''
  let read = 0
  let most = bytes
  socket.on('data', (chunk: Buffer) => {
    read += chunk.length
    if (text.length < keptBytes) text += chunk.toString('latin1')
    if (read >= most) socket.pause()
  })
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  socket.write(requests)
  return {
    socket,
    closed,
    readOn: () => {
      most = Infinity
      socket.resume()
    },
    text: () => text,
    status: () => {
      const status = /^HTTP\/1\.1 (\d{3}) /.exec(text)?.[1]
      return status === undefined ? undefined : Number(status)
    },
  }
}

/** A request for results of a batch, as bytes. */
export function requestResults(key: string, id: string, query = 'format=ndjson'): string {
  return (
    `GET /v1/batches/${id}/results?${query} HTTP/1.1\r\nHost: x\r\n` +
    `Authorization: Bearer ${key}\r\n\r\n`
  )
}
