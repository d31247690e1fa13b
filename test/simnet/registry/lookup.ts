import type { World } from '../world.ts'
import type { Registration } from '../world/domain.ts'
import type { Registry } from '../world/registries.ts'

/** A registered name with its registry. */
export interface Registered {
  readonly name: string
  readonly registration: Registration
  readonly nameServers: readonly string[]
}

/** The registration of a name; undefined if the name is free. */
export function registered(world: World, name: string): Registered | undefined {
  const domain = world.findDomain(name)
  if (domain === undefined || domain.registration === null) return undefined
  return { name, registration: domain.registration, nameServers: domain.nameServers }
}

/** The registry that runs the zone of a name. */
export function registryOf(world: World, name: string): Registry | undefined {
  const tld = name.slice(name.lastIndexOf('.') + 1)
  return world.registries.find(({ tlds }) => tlds.includes(tld))
}
