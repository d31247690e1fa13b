import { createSocket } from 'node:dgram'
import type { Socket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { Server, Socket as TcpSocket } from 'node:net'
import type { Counters } from '../counters.ts'
import type { World } from '../world.ts'
import { NAME_SERVERS } from '../world.ts'
import { applyFault } from './wire-faults.ts'
import { encodeReply, readQuestion, truncated, udpLimitBytes, withId } from './message.ts'
import type { Question } from './message.ts'
import { RCODE } from './records.ts'
import { answerOf } from './zone.ts'

/** Encoded replies kept by question; a world does not change, so they never age. */
const CACHED_REPLIES = 200_000

export interface DnsServers extends AsyncDisposable {
  readonly port: number
}

/** What a reply is and, where the server fails on the wire, how. */
interface Prepared {
  readonly question: Question
  readonly reply: Buffer
  readonly fault: string | undefined
}

type Role = 'resolver' | 'authoritative' | 'lame'

/** Name servers over UDP and TCP: the resolver at 127.0.0.1, the world's own at their addresses, all on one port. */
export async function startDns(
  world: World,
  counters: Counters,
  port: number,
): Promise<DnsServers> {
  const udp: Socket[] = []
  const tcp: Server[] = []
  const open = new Set<TcpSocket>()
  const listeners: [string, Role][] = [['127.0.0.1', 'resolver']]
  for (const name of NAME_SERVERS.serving)
    listeners.push([world.services.get(name) ?? '', 'authoritative'])
  for (const name of NAME_SERVERS.lame) listeners.push([world.services.get(name) ?? '', 'lame'])
  let bound = port
  const stop = async (): Promise<void> => {
    for (const socket of udp) socket.close()
    for (const socket of open) socket.destroy()
    await Promise.all(tcp.map((server) => new Promise((done) => server.close(done))))
  }
  try {
    for (const [address, role] of listeners) {
      if (role !== 'resolver' && port !== USUAL_PORT)
        await atUsualPort(world, counters, address, role, udp, tcp, open)
      const prepare = createPreparer(world, role, counters)
      const socket = createSocket({ type: 'udp4', recvBufferSize: 4 * 1024 * 1024 })
      udp.push(socket)
      answerUdp(socket, prepare)
      socket.bind(bound, address)
      await once(socket, 'listening')
      bound = socket.address().port
      const server = createServer((connection) => answerTcp(connection, prepare, open))
      tcp.push(server)
      server.listen(bound, address)
      await once(server, 'listening')
    }
  } catch (error) {
    await stop()
    throw error
  }
  return { port: bound, [Symbol.asyncDispose]: stop }
}

/** The port at which the world's own servers are asked by whoever knows only their address. */
const USUAL_PORT = 53

/** Listens at port 53 too where this process may; without it questions to these servers need `NAME_SERVER_PORT`. */
async function atUsualPort(
  world: World,
  counters: Counters,
  address: string,
  role: Role,
  udp: Socket[],
  tcp: Server[],
  open: Set<TcpSocket>,
): Promise<void> {
  const prepare = createPreparer(world, role, counters)
  const socket = createSocket('udp4')
  const server = createServer((connection) => answerTcp(connection, prepare, open))
  try {
    socket.bind(USUAL_PORT, address)
    await once(socket, 'listening')
    server.listen(USUAL_PORT, address)
    await once(server, 'listening')
  } catch {
    socket.close()
    server.close()
    return
  }
  answerUdp(socket, prepare)
  udp.push(socket)
  tcp.push(server)
}

function createPreparer(
  world: World,
  role: Role,
  counters: Counters,
): (query: Buffer) => Prepared | undefined {
  const cache = new Map<string, Prepared>()
  return (query) => {
    counters.dnsQueries++
    const question = readQuestion(query)
    if (question === undefined) return undefined
    // The very spelling of the name goes back in the reply, so it is part of the key.
    const key = query.toString('latin1', 12, question.endOffset) + String((query[2] ?? 0) & 1)
    const known = cache.get(key)
    if (known !== undefined) return known
    const found =
      role === 'lame'
        ? { rcode: RCODE.refused, answers: [] }
        : answerOf(world, question.name, question.type)
    const reply = encodeReply(query, question, found, role === 'authoritative')
    const prepared = { question, reply, fault: found.fault }
    if (cache.size >= CACHED_REPLIES) cache.clear()
    cache.set(key, prepared)
    return prepared
  }
}

function answerUdp(socket: Socket, prepare: (query: Buffer) => Prepared | undefined): void {
  let closed = false
  socket.on('error', () => undefined)
  socket.on('close', () => {
    closed = true
  })
  socket.on('message', (query, peer) => {
    const prepared = prepare(query)
    if (prepared === undefined) return
    const { question, reply, fault } = prepared
    const send = (message: Buffer): void => {
      if (!closed) socket.send(message, peer.port, peer.address)
    }
    if (fault !== undefined) {
      applyFault(fault, { query, question, reply: withId(reply, query), send, transport: 'udp' })
      return
    }
    const limit = udpLimitBytes(query, question)
    send(withId(reply.length > limit ? truncated(reply, question) : reply, query))
  })
}

function answerTcp(
  connection: TcpSocket,
  prepare: (query: Buffer) => Prepared | undefined,
  open: Set<TcpSocket>,
): void {
  let pending: Buffer = Buffer.alloc(0)
  open.add(connection)
  connection.on('error', () => undefined)
  connection.on('close', () => open.delete(connection))
  connection.on('data', (chunk) => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk])
    while (pending.length >= 2) {
      const length = pending.readUInt16BE(0)
      if (pending.length < 2 + length) return
      const query = Buffer.from(pending.subarray(2, 2 + length))
      pending = pending.subarray(2 + length)
      const prepared = prepare(query)
      if (prepared === undefined) {
        connection.destroy()
        return
      }
      const { question, reply, fault } = prepared
      const send = (message: Buffer): void => {
        const size = Buffer.alloc(2)
        size.writeUInt16BE(message.length)
        if (!connection.destroyed) connection.write(Buffer.concat([size, message]))
      }
      const named = withId(reply, query)
      if (fault === undefined) send(named)
      else applyFault(fault, { query, question, reply: named, send, transport: 'tcp', connection })
    }
  })
}
