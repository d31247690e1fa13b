import { createSocket } from 'node:dgram'
import type { Socket as DatagramSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo, Server, Socket } from 'node:net'
import { decode, encode } from 'dns-packet'
import type { Answer, Packet } from 'dns-packet'

/** Reply of a test server: records and flags, raw bytes, or none. */
export type Reply =
  | {
      readonly answers?: Answer[]
      readonly authorities?: Answer[]
      readonly flags?: number
      readonly truncate?: boolean
    }
  | { readonly raw: (query: Buffer) => Buffer }
  | null

/** A name server on loopback over UDP and TCP, defined by one function. */
export interface DnsFixture extends AsyncDisposable {
  readonly port: number
  readonly address: string
  readonly asked: { readonly name: string; readonly type: string; readonly tcp: boolean }[]
}

/** Recursion available, as a resolver sets it. */
export const RA = 0x80
/** Authoritative answer, as a name server sets it for its own zones. */
export const AA = 0x400

/**
 * Starts a test name server; `reply` receives each query except those for the root, which are
 * answered with `root`, by default as known.
 */
export async function startDns(
  reply: (name: string, type: string, tcp: boolean) => Reply,
  bind: { address?: string; port?: number; root?: (type: string) => Reply } = {},
): Promise<DnsFixture> {
  const address = bind.address ?? '127.0.0.1'
  const asked: DnsFixture['asked'] = []
  const answer = (query: Buffer, tcp: boolean): Buffer | null => {
    const packet = decode(query)
    const question = packet.questions?.[0]
    if (question === undefined) return null
    const isRoot = question.name === '.'
    if (!isRoot) asked.push({ name: question.name, type: question.type, tcp })
    const given = isRoot
      ? (bind.root ?? knownRoot)(question.type)
      : reply(question.name, question.type, tcp)
    if (given === null) return null
    if ('raw' in given) return given.raw(query)
    const out: Packet = {
      type: 'response',
      id: packet.id ?? 0,
      flags: (given.flags ?? RA) | (given.truncate === true && !tcp ? 0x200 : 0),
      questions: [question],
      answers: given.truncate === true && !tcp ? [] : (given.answers ?? []),
      authorities: given.authorities ?? [],
    }
    return encode(out)
  }
  const udp = createSocket('udp4')
  udp.on('message', (query, from) => {
    const out = answer(query, false)
    if (out !== null) udp.send(out, from.port, from.address)
  })
  const sockets = new Set<Socket>()
  const tcp = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('data', (data: Buffer) => {
      const out = answer(data.subarray(2), true)
      if (out === null) return
      const prefix = Buffer.alloc(2)
      prefix.writeUInt16BE(out.length)
      socket.write(Buffer.concat([prefix, out]))
    })
  })
  const port = await listenOnBoth({ udp, tcp }, address, bind.port)
  return {
    port,
    address,
    asked,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      udp.close()
      await new Promise((resolve) => tcp.close(resolve))
    },
  }
}

/** Attempts: a port that is free for TCP may be in use for UDP. */
const TRIES = 20

async function listenOnBoth(
  { udp, tcp }: { readonly udp: DatagramSocket; readonly tcp: Server },
  address: string,
  wanted: number | undefined,
): Promise<number> {
  for (let left = TRIES; ; left -= 1) {
    tcp.listen(wanted ?? 0, address)
    await once(tcp, 'listening')
    const { port } = tcp.address() as AddressInfo
    try {
      udp.bind(port, address)
      await once(udp, 'listening')
      return port
    } catch (error) {
      tcp.close()
      await once(tcp, 'close')
      if (wanted !== undefined || left === 0) throw error
    }
  }
}

function knownRoot(): Reply {
  return { answers: [{ name: '.', type: 'NS', ttl: 60, data: 'a.root-servers.test' }] }
}
