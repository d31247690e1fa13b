import type { World } from '../world.ts'
import { PROBER } from '../world.ts'
import type { Domain } from '../world/domain.ts'
import { ALIASES, contentFault, UNSAFE_HOSTS, zoneFault } from './faults.ts'
import { RCODE, TYPE } from './records.ts'
import type { Answer, Reply } from './records.ts'

/**
 * The reply of the world's name servers to a question; `name` in lower case without the last dot.
 */
export function answerOf(world: World, name: string, type: number): Reply {
  if (name.endsWith('.in-addr.arpa')) return reverse(world, name, type)
  const target = ALIASES.get(name)
  if (target !== undefined) {
    const { answers } = answerOf(world, target, type)
    return { rcode: RCODE.noError, answers: [{ type: 'CNAME', name, target }, ...answers] }
  }
  const host = world.addressOf(name) ?? UNSAFE_HOSTS.get(name)
  const domain = world.findDomain(name)
  if (domain !== undefined) {
    const reply = contentFault(domain, name, type) ?? apex(domain, type, host)
    return domain.dnsFault === undefined ? reply : { ...reply, fault: domain.dnsFault }
  }
  if (host !== undefined)
    return typed(type, 'A', [{ type: 'A', name, address: host }], parentZone(name))
  return below(world, name, type)
}

/** The reply for the domain itself. */
function apex(domain: Domain, type: number, host: string | undefined): Reply {
  const { name } = domain
  if (domain.undelegated === true) return nxdomain(parentZone(name))
  const all: Answer[] = []
  if (type === TYPE.A || type === TYPE.ANY) {
    const address = domain.address ?? host
    if (address !== undefined) all.push({ type: 'A', name, address })
  }
  if (type === TYPE.NS || type === TYPE.ANY) {
    for (const target of domain.nameServers) all.push({ type: 'NS', name, target })
  }
  if (type === TYPE.SOA || type === TYPE.ANY) all.push({ type: 'SOA', name })
  if (type === TYPE.TXT || type === TYPE.ANY) {
    for (const text of domain.spf) all.push({ type: 'TXT', name, text })
    all.push({ type: 'TXT', name, text: `site-verification=${name.length}${domain.kind.length}` })
  }
  if (type === TYPE.MX || type === TYPE.ANY) all.push(...exchanges(domain))
  return positive(all, name)
}

function exchanges(domain: Domain): Answer[] {
  const { mail, name } = domain
  if (mail.kind === 'null-mx') return [{ type: 'MX', name, preference: 0, exchange: '' }]
  if (mail.kind !== 'mx') return []
  return mail.exchanges.map(({ preference, host }) => ({
    type: 'MX',
    name,
    preference,
    exchange: host,
  }))
}

/** The reply for a name below a domain of the world: `www`, `_dmarc`, a wildcard, or none. */
function below(world: World, name: string, type: number): Reply {
  const dot = name.indexOf('.')
  if (dot < 0) return name === '' || isZone(world, name) ? positive([], name) : nxdomain(name)
  let parent = name.slice(dot + 1)
  let domain = world.findDomain(parent)
  const direct = domain !== undefined
  while (domain === undefined) {
    const next = parent.indexOf('.')
    if (next < 0) return isPublicZone(world, name) ? positive([], name) : nxdomain(parent)
    parent = parent.slice(next + 1)
    domain = world.findDomain(parent)
  }
  const fault = zoneFault(domain)
  if (fault === undefined) return belowDomain(domain, name, type, direct)
  return { ...(contentFault(domain, name, type) ?? belowDomain(domain, name, type, direct)), fault }
}

function belowDomain(domain: Domain, name: string, type: number, direct: boolean): Reply {
  const first = name.slice(0, name.indexOf('.'))
  if (domain.undelegated === true) return nxdomain(parentZone(domain.name))
  if (direct && first === '_dmarc' && domain.dmarc.length > 0) {
    return typed(
      type,
      'TXT',
      domain.dmarc.map((text) => ({ type: 'TXT', name, text })),
      domain.name,
    )
  }
  if (domain.address !== undefined && ((direct && first === 'www') || domain.wildcard === true)) {
    return typed(type, 'A', [{ type: 'A', name, address: domain.address }], domain.name)
  }
  return nxdomain(domain.name)
}

/** The PTR reply for a loopback address: the prober's, or that of a mail host. */
function reverse(world: World, name: string, type: number): Reply {
  const address = name.slice(0, -'.in-addr.arpa'.length).split('.').toReversed().join('.')
  if (address === '127.0.0.1')
    return typed(type, 'PTR', [{ type: 'PTR', name, target: PROBER }], 'in-addr.arpa')
  for (const host of world.hosts.values()) {
    if (host.address === address)
      return typed(type, 'PTR', [{ type: 'PTR', name, target: host.name }], 'in-addr.arpa')
  }
  return nxdomain('in-addr.arpa')
}

function typed(
  asked: number,
  type: keyof typeof TYPE,
  answers: readonly Answer[],
  zone: string,
): Reply {
  return asked === TYPE[type] || asked === TYPE.ANY ? positive(answers, zone) : positive([], zone)
}

function positive(answers: readonly Answer[], zone: string): Reply {
  return answers.length > 0
    ? { rcode: RCODE.noError, answers }
    : { rcode: RCODE.noError, answers, soaOf: zone }
}

function nxdomain(zone: string): Reply {
  return { rcode: RCODE.nxDomain, answers: [], soaOf: zone }
}

function parentZone(name: string): string {
  return name.slice(name.indexOf('.') + 1)
}

function isZone(world: World, tld: string): boolean {
  return (
    tld === 'arpa' || tld === 'example' || world.registries.some(({ tlds }) => tlds.includes(tld))
  )
}

/** `co.uk` and `com.br` exist, although the world has no records for them. */
function isPublicZone(world: World, name: string): boolean {
  return (
    name.split('.').length === 2 &&
    ['co.uk', 'com.br', 'co.jp'].includes(name) &&
    isZone(world, name.slice(-2))
  )
}
