import { getServers } from 'node:dns'
import { createEgress, type Egress } from '@plumbline/net/egress'
import { createResolver, type Resolver } from '@plumbline/net/resolver'
import { engineSettings } from '@plumbline/runtime/engine-settings'
import { readSettings, type Environment } from '@plumbline/runtime/settings'
import { z } from 'zod'

const { DNS_SERVERS, EGRESS_ALLOW } = engineSettings
const schema = z.object({ DNS_SERVERS, EGRESS_ALLOW })

/** Network access of a command. */
export interface Network {
  readonly egress: Egress
  readonly resolver: Resolver
  /** `ip` or `ip:port` of the resolvers. */
  readonly dnsServers: readonly string[]
}

/** Makes the egress guard and the resolver from the settings; sends nothing yet. */
export function openNetwork(environment: Environment): Network {
  const settings = readSettings(schema, environment)
  const egress = createEgress({ allow: [...settings.EGRESS_ALLOW] })
  const dnsServers = settings.DNS_SERVERS ?? getServers()
  return { egress, dnsServers, resolver: createResolver({ servers: dnsServers, egress }) }
}
