import { createServer } from 'node:net'
import type { Socket } from 'node:net'
import { queryCounters } from '../counters.ts'
import type { Counters } from '../counters.ts'
import { listenAt, onOnePort } from '../one-port.ts'
import type { Listeners } from '../one-port.ts'
import type { World } from '../world.ts'
import { REGISTRAR_WHOIS } from '../world/registries.ts'
import type { Registry, WhoisService } from '../world/registries.ts'
import { registered, registryOf } from './lookup.ts'
import { createThrottle } from './throttle.ts'
import { WHOIS_WRITERS } from './whois-body.ts'
import { WHOIS_FAULTS } from './whois-faults.ts'

const QUERY_CHARACTERS = 1024

type Answerer = (query: string, socket: Socket) => void

/** Starts the WHOIS servers of all registries at their addresses, and IANA's, which refers to them; all on one port. */
export function startWhois(world: World, counters: Counters, port: number): Promise<Listeners> {
  const answerers = new Map<string, Answerer>()
  answerers.set(world.services.get('whois.iana.org') ?? '', createRoot(world, counters))
  answerers.set(world.services.get(REGISTRAR_WHOIS) ?? '', createRegistrar(world, counters))
  for (const registry of world.registries) {
    if (registry.whois === undefined) continue
    answerers.set(
      world.services.get(registry.whois.server) ?? '',
      createRegistry(world, counters, registry, registry.whois),
    )
  }
  return onOnePort(port, async (given, opened) => {
    const connections = new Set<Socket>()
    let bound = given
    for (const [address, answerer] of answerers) {
      const server = createServer((socket) => serve(socket, answerer, connections))
      bound = await listenAt(server, address, bound, opened)
    }
    opened.defer(() => {
      for (const socket of connections) socket.destroy()
    })
    return bound
  })
}

function serve(socket: Socket, answerer: Answerer, open: Set<Socket>): void {
  let text = ''
  open.add(socket)
  socket.on('error', () => undefined)
  socket.on('close', () => open.delete(socket))
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
    const end = text.indexOf('\n')
    if (end >= 0) {
      socket.removeAllListeners('data')
      answerer(text.slice(0, end).trim(), socket)
    } else if (text.length > QUERY_CHARACTERS) socket.destroy()
  })
}

/** IANA's server, which refers to the WHOIS server of a zone. */
function createRoot(world: World, counters: Counters): Answerer {
  const seen = queryCounters(counters, 'whois.iana.org')
  return (query, socket) => {
    seen.queries++
    seen.times.add(Date.now())
    const name = query.toLowerCase()
    const registry = registryOf(world, name)
    const head =
      '% IANA WHOIS server\n% for more information on IANA, visit http://www.iana.org\n\n'
    if (registry === undefined) {
      socket.end(`${head}% This query returned 0 objects.\n`)
      return
    }
    const tld = name.slice(name.lastIndexOf('.') + 1)
    const whois = registry.whois === undefined ? '' : `whois:        ${registry.whois.server}\n`
    const refer = registry.whois === undefined ? '' : `refer:        ${registry.whois.server}\n\n`
    socket.end(
      `${head}${refer}domain:       ${tld.toUpperCase()}\n\n${whois}\nstatus:       ACTIVE\nsource:       IANA\n`,
    )
  }
}

/** The registrar's server, which knows the names of all registries. */
function createRegistrar(world: World, counters: Counters): Answerer {
  const seen = queryCounters(counters, REGISTRAR_WHOIS)
  const writer = WHOIS_WRITERS.icann
  return (query, socket) => {
    seen.queries++
    seen.times.add(Date.now())
    const name = writer.query(query).toLowerCase()
    const found = registered(world, name)
    socket.end(found === undefined ? writer.free(name) : writer.found(found))
  }
}

function createRegistry(
  world: World,
  counters: Counters,
  registry: Registry,
  whois: WhoisService,
): Answerer {
  const seen = queryCounters(counters, whois.server)
  const throttle = createThrottle(whois.perSecond, whois.burst)
  const writer = WHOIS_WRITERS[whois.format]
  return (query, socket) => {
    seen.queries++
    seen.times.add(Date.now())
    seen.open++
    seen.mostOpen = Math.max(seen.mostOpen, seen.open)
    socket.on('close', () => seen.open--)
    if (whois.fault !== undefined) {
      WHOIS_FAULTS[whois.fault]?.(socket, query)
      return
    }
    if (throttle.take() > 0) {
      seen.refused++
      socket.end(writer.throttled)
      return
    }
    const name = writer.query(query).toLowerCase()
    const known = registry.tlds.includes(name.slice(name.lastIndexOf('.') + 1))
    const found = known ? registered(world, name) : undefined
    const reply = found === undefined ? writer.free(name) : writer.found(found)
    if (whois.delayMs === undefined) socket.end(reply)
    else setTimeout(() => socket.end(reply), whois.delayMs)
  }
}
