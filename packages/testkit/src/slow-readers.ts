import { connect, type Socket } from 'node:net'

/** A client on a bare socket that controls when it reads. */
export interface SlowReader {
  readonly socket: Socket
  /** The text received so far. */
  text(): string
  /** Status of the first response; undefined before it has arrived. */
  status(): number | undefined
  /** Resolves once the connection is over, however it ended. */
  readonly closed: Promise<void>
  /** Reads everything that still arrives. */
  readOn(): void
}

/** Behaviour of such a client. */
export interface SlowReaderOptions {
  readonly url: string
  /** The requests, one after the other. */
  readonly requests: string
  /** Bytes after which it stops reading; default all. */
  readonly bytes?: number
  /** Bytes of them that it keeps; default all. */
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
