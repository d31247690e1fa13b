import { createEmailEngine } from '@plumbline/email/engine'
import type { EmailEngineOptions } from '@plumbline/email/engine'
import { nameList, processLimiter, processMemory } from '@plumbline/email/smtp-fixture'
import { createEgress } from '@plumbline/net/egress'
import { createResolver } from '@plumbline/net/resolver'
import type { Resolver } from '@plumbline/net/resolver'
import type { Engine, Answer } from '@plumbline/ports/engine'
import type { Json } from '@plumbline/contract/outcome'
import { spawnSimnet } from '../simnet/child.ts'
import type { SimnetOptions } from '../simnet/simnet.ts'
import { makeWorld } from '../simnet/world.ts'
import type { World } from '../simnet/world.ts'

/** Maximum concurrent connections of each measured client. */
export const CONNECTIONS = 200

const SEED = 7
const PORT = 25

/** A simulated internet, with engines to measure on it. */
export interface Bench extends AsyncDisposable {
  readonly world: World
  readonly port: number
  readonly resolver: Resolver
  engine(options?: Partial<EmailEngineOptions>): Engine<'email'>
}

/** Starts a simulated internet in a process of its own; its engines have no rate limits. */
export async function openBench(options: Omit<SimnetOptions, 'world'>): Promise<Bench> {
  const simnet = await spawnSimnet({ seed: SEED, ports: { smtp: PORT }, ...options })
  const egress = createEgress({ allow: ['127.0.0.0/8'] })
  const resolver = createResolver({
    servers: [simnet.settings['DNS_SERVERS'] ?? ''],
    egress,
    cacheSize: 5_000,
  })
  const silent = (): void => undefined
  const none = (name: Parameters<typeof nameList>[0]) => nameList(name, [])
  return {
    world: makeWorld({ seed: SEED, ...options }),
    port: PORT,
    resolver,
    engine: (changes) =>
      createEmailEngine({
        resolver,
        egress,
        memory: changes?.memory ?? processMemory(),
        limiter: changes?.limiter ?? processLimiter(),
        lists: {
          disposable: none('disposable'),
          disposableAllow: none('disposable-allow'),
          privacyRelay: none('privacy-relay'),
          free: none('free'),
          role: none('role'),
          spamTrap: none('spam-trap'),
          optOut: none('opt-out'),
        },
        smtp: {
          port: PORT,
          heloName: 'verifier.simnet.example',
          mailFrom: 'verify@verifier.simnet.example',
        },
        probing: 'smtp',
        greylistScheduleSeconds: [300],
        selfTest: false,
        limits: {
          sessions: CONNECTIONS,
          liveSessions: 0,
          connectionsPerGroup: 4,
          recipientsPerMinute: 1e9,
          recipientsPerDomainPerHour: 1e9,
          dictionaryAsked: 1e9,
          window: 20_000,
          queueMs: 60_000,
          ...changes?.limits,
        },
        log: { debug: silent, info: silent, warn: silent, error: silent },
      }),
    [Symbol.asyncDispose]: () => simnet[Symbol.asyncDispose](),
  }
}

/** Has subjects checked; those that must wait are asked again until they are answered. */
export async function askAll(
  engine: Engine<'email'>,
  subjects: readonly string[],
): Promise<readonly Answer<'email'>[]> {
  const answers: Answer<'email'>[] = Array.from({ length: subjects.length })
  let open = subjects.map((subject, at) => ({ subject, at, state: undefined as Json | undefined }))
  while (open.length > 0) {
    const results = await engine.run({
      subjects: open.map(({ subject }) => subject),
      states: open.map(({ state }) => state),
      depth: 'basic',
      lane: 'bulk',
      account: 'bench',
      signal: AbortSignal.timeout(120_000),
    })
    const again: typeof open = []
    results.forEach((answer, place) => {
      const each = open[place]
      if (each === undefined) return
      if (answer.kind === 'later' && answer.reason !== 'greylisted')
        again.push({ ...each, state: answer.state })
      else answers[each.at] = answer
    })
    open = again
  }
  return answers
}

/** The nth address, where addresses are spread over this many domains. */
export function addressAt(n: number, domains: number): string {
  return `user${Math.floor(n / domains) + 1}@d${n % domains}.example`
}
