import { connect, type Socket } from 'node:net'

/** A client on a plain socket that stops and resumes reading. */
export interface SlowReader {
  readonly socket: Socket
  /** The text received so far. */
  text(): string
  /** Status of the first response; undefined before it has arrived. */
  status(): number | undefined
  /** Resolves when the connection is closed, by either side or by an error. */
  readonly closed: Promise<void>
  /** Resumes reading, to the end. */
  readRest(): void
}

/** Options of such a client. */
export interface SlowReaderOptions {
  readonly url: string
  /** The requests, one after the other. */
  readonly requests: string
  /** Bytes after which it stops reading; default all. */
  readonly bytes?: number
  /** Bytes after which received text is discarded; default: all is kept. */
  readonly keptBytes?: number
}

/** Opens a connection, sends requests, and stops reading after the given number of bytes. */
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
    readRest: () => {
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

/** The text of an HTTP request for results of a batch. */
export function requestResults(key: string, id: string, query = 'format=ndjson'): string {
  return (
    `GET /v1/batches/${id}/results?${query} HTTP/1.1\r\nHost: x\r\n` +
    `Authorization: Bearer ${key}\r\n\r\n`
  )
}
