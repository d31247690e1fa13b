import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { queryCounters } from '../counters.ts'
import type { Counters } from '../counters.ts'
import { json, listenEverywhere } from '../http.ts'
import type { Listeners } from '../one-port.ts'
import type { World } from '../world.ts'
import type { RdapService, Registry } from '../world/registries.ts'
import { registered } from './lookup.ts'
import { domainBody, notFoundBody } from './rdap-body.ts'
import { RDAP_FAULTS } from './rdap-faults.ts'
import { createThrottle } from './throttle.ts'

/** Starts the RDAP servers of all registries at their addresses, and IANA's bootstrap file; all on one port. */
export async function startRdap(
  world: World,
  counters: Counters,
  port: number,
): Promise<Listeners> {
  let bound = port
  const handlers = new Map<string, RequestListener>()
  const at = (host: string, handler: RequestListener): void => {
    handlers.set(world.services.get(host) ?? '', handler)
  }
  at('data.iana.org', (request, response) => {
    if (request.url !== '/rdap/dns.json') json(response, 404, {})
    else json(response, 200, bootstrap(world, bound))
  })
  for (const registry of world.registries) {
    const { rdap } = registry
    if (rdap === undefined) continue
    const answer = createRegistryHandler(world, counters, registry, rdap, () => bound)
    const target = rdap.redirect
    at(target?.host ?? rdap.host, answer)
    if (target === undefined) continue
    at(rdap.host, (request, response) => {
      const url = request.url ?? ''
      if (target.host === rdap.host && url.startsWith(target.path)) {
        answer(request, response)
        return
      }
      const rest = url.slice(rdap.path.length)
      response
        .writeHead(302, { location: `http://${target.host}:${bound}${target.path}${rest}` })
        .end()
    })
  }
  const started = await listenEverywhere(handlers, port)
  bound = started.port
  return started
}

/** IANA's bootstrap file. Source: RFC 9224 section 4. */
function bootstrap(world: World, port: number): unknown {
  const services: [readonly string[], string[]][] = []
  for (const { rdap, tlds } of world.registries) {
    if (rdap !== undefined) services.push([tlds, [`http://${rdap.host}:${port}${rdap.path}`]])
  }
  return {
    version: '1.0',
    publication: new Date(world.todayMs).toISOString(),
    description: 'RDAP of a simulated world',
    services,
  }
}

function createRegistryHandler(
  world: World,
  counters: Counters,
  registry: Registry,
  rdap: RdapService,
  port: () => number,
): RequestListener {
  const throttle = createThrottle(rdap.perSecond, rdap.burst)
  const seen = queryCounters(counters, rdap.host)
  const final = rdap.redirect ?? rdap
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    if (rdap.fault !== undefined) {
      RDAP_FAULTS[rdap.fault]?.({
        request,
        response,
        url: `http://${rdap.host}:${port()}${request.url ?? ''}`,
      })
      return
    }
    const waitSeconds = throttle.take()
    if (waitSeconds > 0) {
      seen.refused++
      json(
        response,
        429,
        { errorCode: 429, title: 'Too Many Requests' },
        { 'retry-after': String(Math.ceil(waitSeconds)) },
      )
      return
    }
    const url = request.url ?? ''
    const name = decodeURIComponent(url.slice(`${final.path}domain/`.length)).toLowerCase()
    const zone = name.slice(name.lastIndexOf('.') + 1)
    if (!url.startsWith(`${final.path}domain/`) || !registry.tlds.includes(zone)) {
      json(response, 400, {
        errorCode: 400,
        title: 'Bad Request',
        description: ['not a name of this registry'],
      })
      return
    }
    const found = registered(world, name)
    const headers = { 'content-type': 'application/rdap+json' }
    if (found === undefined) json(response, 404, notFoundBody(name), headers)
    else
      json(
        response,
        200,
        domainBody(registry, rdap, found, `http://${final.host}:${port()}${url}`),
        headers,
      )
  }
  return (request, response) => {
    seen.queries++
    seen.times.add(Date.now())
    seen.open++
    seen.mostOpen = Math.max(seen.mostOpen, seen.open)
    response.on('close', () => seen.open--)
    if (rdap.delayMs === undefined) answer(request, response)
    else setTimeout(() => answer(request, response), rdap.delayMs)
  }
}
