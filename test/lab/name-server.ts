import { createSocket, type Socket as UdpSocket } from 'node:dgram'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/** The resolver of a service, in front of the real one: it can stop replying. */
export interface LabNameServer extends AsyncDisposable {
  /** `127.0.0.1:port`. */
  readonly address: string
  /** From now on it neither answers nor refuses queries. */
  fallSilent(): void
  answerAgain(): void
}

/** Opens one, by UDP and TCP, in front of `ip:port`. */
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
  const ways = new Map<string, UdpSocket>()
  stack.defer(() => ways.forEach((way) => way.close()))
  udp.on('message', (question, { address, port: from }) => {
    if (isSilent) return
    wayOf(ways, `${address}:${from}`, (reply) => {
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

/** Clients that are tracked at a time for routing replies. */
const MOST_WAYS = 2_000

/** The socket for a client's queries, so that replies are routed back to it. */
function wayOf(
  ways: Map<string, UdpSocket>,
  client: string,
  answer: (reply: Buffer) => void,
): UdpSocket {
  const known = ways.get(client)
  if (known !== undefined) return known
  const [oldest] = ways
  if (oldest !== undefined && ways.size >= MOST_WAYS) {
    oldest[1].close()
    ways.delete(oldest[0])
  }
  const way = createSocket('udp4')
  way.on('message', answer)
  way.on('error', () => undefined)
  ways.set(client, way)
  return way
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
