import { createSocket, type Socket as UdpSocket } from 'node:dgram'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/** A DNS proxy between a service and its resolver, which can stop replying. */
export interface LabNameServer extends AsyncDisposable {
  /** `127.0.0.1:port`. */
  readonly address: string
  /** Drops all queries from now on. */
  fallSilent(): void
  answerAgain(): void
}

/** Opens a proxy over UDP and TCP in front of the resolver at `ip:port`. */
export async function openNameServer(behind: string): Promise<LabNameServer> {
  const [host = '', port = ''] = behind.split(':')
  const target = { host, port: Number(port) }
  let isSilent = false
  await using stack = new AsyncDisposableStack()
  const tcp = createServer((client) => {
    if (isSilent) {
      client.on('error', () => undefined).resume()
      return
    }
    join(client, connect(target.port, target.host))
  })
  tcp.listen(0, '127.0.0.1')
  await once(tcp, 'listening')
  stack.defer(() => void tcp.close())
  const bound = tcp.address()
  if (bound === null || typeof bound === 'string') throw new Error('the name server has no port')
  const udp = createSocket({ type: 'udp4', recvBufferSize: 4 * 1024 * 1024 })
  udp.bind(bound.port, '127.0.0.1')
  await once(udp, 'listening')
  stack.defer(() => void udp.close())
  const sockets = new Map<string, UdpSocket>()
  stack.defer(() => sockets.forEach((socket) => socket.close()))
  udp.on('message', (question, { address, port: from }) => {
    if (isSilent) return
    socketOf(sockets, `${address}:${from}`, (reply) => {
      if (!isSilent) udp.send(reply, from, address)
    }).send(question, target.port, target.host)
  })
  const owned = stack.move()
  return {
    address: `127.0.0.1:${bound.port}`,
    fallSilent: () => {
      isSilent = true
    },
    answerAgain: () => {
      isSilent = false
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** Clients whose sockets are kept for routing replies; the oldest is closed for a new one. */
const MOST_SOCKETS = 2_000

/** The socket for a client's queries, so that replies are routed back to it. */
function socketOf(
  sockets: Map<string, UdpSocket>,
  client: string,
  answer: (reply: Buffer) => void,
): UdpSocket {
  const known = sockets.get(client)
  if (known !== undefined) return known
  const [oldest] = sockets
  if (oldest !== undefined && sockets.size >= MOST_SOCKETS) {
    oldest[1].close()
    sockets.delete(oldest[0])
  }
  const socket = createSocket('udp4')
  socket.on('message', answer)
  socket.on('error', () => undefined)
  sockets.set(client, socket)
  return socket
}

function join(client: Socket, behind: Socket): void {
  for (const [one, other] of [
    [client, behind],
    [behind, client],
  ] as const) {
    one.on('error', () => other.destroy())
    one.on('close', () => other.destroy())
    one.pipe(other)
  }
}
