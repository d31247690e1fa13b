import { getServers } from 'node:dns'
import { createEgress, type Egress } from '@plumbline/net/egress'
import { createResolver, type Resolver } from '@plumbline/net/resolver'
import { engineSettings } from '@plumbline/runtime/engine-settings'
import { readSettings, type Environment } from '@plumbline/runtime/settings'
import { z } from 'zod'

const { DNS_SERVERS, EGRESS_ALLOW } = engineSettings
const schema = z.object({ DNS_SERVERS, EGRESS_ALLOW })

/** The way out of the machine. */
export interface Outside {
  readonly egress: Egress
  readonly resolver: Resolver
  /** `ip` or `ip:port` of the resolvers. */
  readonly dnsServers: readonly string[]
}

/** Opens the way out as the settings say; nothing is sent yet. */
export function openOutside(environment: Environment): Outside {
  const settings = readSettings(schema, environment)
  const egress = createEgress({ allow: [...settings.EGRESS_ALLOW] })
  const dnsServers = settings.DNS_SERVERS ?? getServers()
  return { egress, dnsServers, resolver: createResolver({ servers: dnsServers, egress }) }
}
