import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** One persistent connection that posts JSON, one request after another. */
export interface HttpConnection extends Disposable {
  /** Returns the body. @throws unless the status is 200: `Refused` for 429 and 503 */
  post(path: string, body: string): Promise<string>
}

/** The API closes connections that are idle for 5 seconds; one idle for nearly as long is replaced. */
const MAX_IDLE_MS = 3_000

/**
 * Opens a connection. It can only read responses of our own API (with a length, not chunked): a full
 * HTTP client would use more processor time than the measured service.
 */
export async function openHttpConnection(url: string, key: string): Promise<HttpConnection> {
  const { hostname, port } = new URL(url)
  const head = `Host: ${hostname}\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n`
  let socket = await open(hostname, Number(port))
  let usedMs = performance.now()
  return {
    async post(path, body) {
      if (performance.now() - usedMs > MAX_IDLE_MS) {
        socket.destroy()
        socket = await open(hostname, Number(port))
      }
      const length = Buffer.byteLength(body)
      socket.write(`POST ${path} HTTP/1.1\r\n${head}Content-Length: ${length}\r\n\r\n${body}`)
      const answer = await readAnswer(socket)
      usedMs = performance.now()
      return answerOf(answer)
    },
    [Symbol.dispose]: () => socket.destroy(),
  }
}

async function open(host: string, port: number): Promise<Socket> {
  const socket = connect({ host, port, noDelay: true })
  await once(socket, 'connect')
  return socket.setEncoding('latin1')
}

interface Answer {
  readonly head: string
  readonly body: string
}

function readAnswer(socket: Socket): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  let text = ''
  function onData(chunk: string): void {
    text += chunk
    const end = text.indexOf('\r\n\r\n')
    if (end === -1) return
    const head = text.slice(0, end)
    const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1]
    if (length === undefined) return leave(() => reject(new Error(`no length in ${head}`)))
    const body = text.slice(end + 4)
    if (body.length >= Number(length)) leave(() => resolve({ head, body }))
  }
  const onClose = (): void => leave(() => reject(new Error(`the API hung up after "${text}"`)))
  function leave(settle: () => void): void {
    socket.off('data', onData)
    socket.off('close', onClose)
    settle()
  }
  socket.on('data', onData)
  socket.on('close', onClose)
  return promise
}

/** Thrown if the API is at its limit of calls, or the account at its share; nothing was charged. */
export class Refused extends Error {}

function answerOf({ head, body }: Answer): string {
  if (head.startsWith('HTTP/1.1 200 ')) return body
  if (/^HTTP\/1\.1 (?:429|503) /.test(head)) throw new Refused(body)
  throw new Error(`expected 200, got ${head.slice(0, 60)} ${body}`)
}
