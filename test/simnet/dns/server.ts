import { createSocket } from 'node:dgram'
import type { Socket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { Socket as TcpSocket } from 'node:net'
import type { Counters } from '../counters.ts'
import { listenAt, onOnePort } from '../one-port.ts'
import type { Listeners } from '../one-port.ts'
import type { World } from '../world.ts'
import { NAME_SERVERS } from '../world.ts'
import { applyFault } from './wire-faults.ts'
import { encodeReply, readQuestion, truncated, udpLimitBytes, withId } from './message.ts'
import type { Question } from './message.ts'
import { RCODE } from './records.ts'
import { answerOf } from './zone.ts'

/** Most encoded replies in the cache, by question; they never expire, since a world does not change. */
const CACHED_REPLIES = 200_000

/** A reply, and its fault on the wire if it has one. */
interface Prepared {
  readonly question: Question
  readonly reply: Buffer
  readonly fault: string | undefined
}

type Preparer = (query: Buffer) => Prepared | undefined

type Role = 'resolver' | 'authoritative' | 'lame'

/**
 * Starts the resolver at 127.0.0.1 and the world's name servers at their addresses, over UDP and TCP,
 * all on one port.
 */
export function startDns(world: World, counters: Counters, port: number): Promise<Listeners> {
  const listeners: [string, Role][] = [['127.0.0.1', 'resolver']]
  const at = (names: readonly string[], role: Role): void => {
    for (const name of names) listeners.push([world.services.get(name) ?? '', role])
  }
  at(NAME_SERVERS.serving, 'authoritative')
  at(NAME_SERVERS.lame, 'lame')
  return onOnePort(port, async (given, opened) => {
    let bound = given
    for (const [address, role] of listeners) {
      const prepare = createPreparer(world, role, counters)
      bound = await serveAt(address, bound, prepare, opened)
      if (role !== 'resolver' && bound !== USUAL_PORT) await tryUsualPort(address, prepare, opened)
    }
    return bound
  })
}

/** The standard port, which clients use with the address of a name server. */
const USUAL_PORT = 53

/**
 * Listens on port 53 too, if permitted; otherwise clients need the setting `NAME_SERVER_PORT`.
 */
async function tryUsualPort(
  address: string,
  prepare: Preparer,
  opened: AsyncDisposableStack,
): Promise<void> {
  await using attempt = new AsyncDisposableStack()
  try {
    await serveAt(address, USUAL_PORT, prepare, attempt)
  } catch {
    return
  }
  opened.use(attempt.move())
}

async function serveAt(
  address: string,
  port: number,
  prepare: Preparer,
  opened: AsyncDisposableStack,
): Promise<number> {
  const socket = createSocket({ type: 'udp4', recvBufferSize: 4 * 1024 * 1024 })
  opened.defer(() => new Promise<void>((done) => socket.close(() => done())))
  answerUdp(socket, prepare)
  socket.bind(port, address)
  await once(socket, 'listening')
  const connections = new Set<TcpSocket>()
  const server = createServer((connection) => answerTcp(connection, prepare, connections))
  await listenAt(server, address, socket.address().port, opened)
  opened.defer(() => {
    for (const connection of connections) connection.destroy()
  })
  return socket.address().port
}

function createPreparer(world: World, role: Role, counters: Counters): Preparer {
  const cache = new Map<string, Prepared>()
  return (query) => {
    counters.dnsQueries++
    const question = readQuestion(query)
    if (question === undefined) return undefined
    // A reply repeats the name with its capitals, so these are part of the key.
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

function answerUdp(socket: Socket, prepare: Preparer): void {
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

function answerTcp(connection: TcpSocket, prepare: Preparer, open: Set<TcpSocket>): void {
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
