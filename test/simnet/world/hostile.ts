import { DNS_FAULTS } from '../dns/faults.ts'
import { RDAP_FAULTS } from '../registry/rdap-faults.ts'
import { WHOIS_FAULTS } from '../registry/whois-faults.ts'
import { FAULTS } from '../smtp/faults.ts'
import { postfix } from '../smtp/profile.ts'
import type { Builder } from './builder.ts'
import type { Registry } from './registries.ts'

/**
 * Adds a domain for each fault: `smtp-<fault>.example`, `dns-<fault>.example`, `name.rdap-<fault>`,
 * `name.whois-<fault>`.
 */
export function addHostile(builder: Builder): void {
  for (const fault of Object.keys(FAULTS)) {
    const name = `smtp-${fault}.example`
    const host = builder.host(`mx.${name}`, { ...postfix(`mx.${name}`), fault })
    builder.add({
      name,
      kind: `hostile:${fault}`,
      mail: { kind: 'mx', exchanges: [{ preference: 10, host: host.name }] },
    })
  }
  for (const fault of DNS_FAULTS) {
    const name = `dns-${fault}.example`
    const host = builder.host(`mx.dns-faults-sim.example`, postfix('mx.dns-faults-sim.example'))
    builder.add({
      name,
      kind: `dns:${fault}`,
      dnsFault: fault,
      mail: { kind: 'mx', exchanges: [{ preference: 10, host: host.name }] },
    })
  }
  for (const { tlds } of hostileRegistries()) {
    for (const tld of tlds)
      builder.add({ name: `name.${tld}`, kind: `registry:${tld}`, mail: { kind: 'none' } })
  }
}

/** A registry with a zone of its own for each fault of an RDAP or WHOIS server. */
export function hostileRegistries(): readonly Registry[] {
  const rdap = Object.keys(RDAP_FAULTS).map((fault): Registry => {
    const host = `rdap.rdap-${fault}`
    return { name: host, tlds: [`rdap-${fault}`], rdap: { host, path: '/', fault } }
  })
  const whois = Object.keys(WHOIS_FAULTS).map((fault): Registry => {
    const server = `whois.whois-${fault}`
    return { name: server, tlds: [`whois-${fault}`], whois: { server, format: 'icann', fault } }
  })
  const redirected: Registry = {
    name: 'redirected',
    tlds: ['rdap-redirected'],
    rdap: {
      host: 'rdap.rdap-redirected',
      path: '/',
      redirect: { host: 'rdap-backend.rdap-redirected', path: '/v2/' },
    },
  }
  return [...rdap, ...whois, redirected]
}
