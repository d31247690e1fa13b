import { setTimeout as wait } from 'node:timers/promises'
import type { Engine } from '@plumbline/contract/engine'
import type { Json } from '@plumbline/contract/outcome'
import { createDomainEngine } from '@plumbline/engines/domain/engine'
import { createEgress } from '@plumbline/engines/net/egress'
import { createResolver } from '@plumbline/engines/net/resolver'
import { createLocalLimiter } from '@plumbline/queue/local-limiter'
import { createLocalMemory } from '@plumbline/queue/local-memory'
import { spawnSimnet } from '../simnet/child.ts'
import { atMost, bounded, quantile } from './figure.ts'
import type { Figure } from './figure.ts'

const NAMES = 20_000
const REGISTRIES = 50
/** What each registry allows, and how long it takes to answer. */
const PER_SECOND = 5
const DELAY_MS = 80
const CHUNK = 500
/** Tasks in hand at once; a task that waits for its registries costs nothing but its place. */
const SLOTS = 64
/** How often the dispatcher looks. */
const LOOK_MS = 100
const LIVE_EVERY_MS = 1_000

/** A list over many registries against the ideal schedule, each kept to its limit by its own count. */
export async function run(): Promise<readonly Figure[]> {
  const registries = Array.from({ length: REGISTRIES }, (_, at) => ({
    name: `bench-${at}`,
    tlds: [`bench${at}`],
    rdap: {
      host: `rdap.bench-${at}.net`,
      path: '/',
      perSecond: PER_SECOND,
      burst: PER_SECOND,
      delayMs: DELAY_MS,
    },
  }))
  await using simnet = await spawnSimnet({ registries })
  await using engine = engineIn(simnet.settings)
  const stop = new AbortController()
  const live = callNowAndThen(engine, stop.signal)
  const startMs = performance.now()
  await runList(engine)
  const seconds = (performance.now() - startMs) / 1_000
  stop.abort()
  const liveMs = await live
  const counters = await simnet.counters()
  const seen = Object.entries(counters.registries).filter(([host]) =>
    host.startsWith('rdap.bench-'),
  )
  const refused = seen.reduce((sum, [, { refused: count }]) => sum + count, 0)
  const most = Math.max(...seen.map(([, { times }]) => mostInASecond(times)))
  const head = { backend: 'engine' } as const
  const ideal = NAMES / REGISTRIES / PER_SECOND
  return [
    atMost(
      { ...head, name: 'domain: 20,000 names, 50 registries', unit: 's' },
      seconds,
      ideal,
      1.2,
    ),
    bounded({ ...head, name: 'domain: refused by registries', unit: 'queries' }, refused, 0),
    bounded({ ...head, name: 'domain: most in one second', unit: 'queries' }, most, PER_SECOND),
    bounded(
      { ...head, name: 'domain: live meanwhile, p99', unit: 'ms' },
      quantile(liveMs, 0.99),
      2_000,
    ),
  ]
}

function engineIn(settings: Readonly<Record<string, string>>): Engine<'domain'> {
  const egress = createEgress({ allow: ['127.0.0.0/8'] })
  const nobody = { has: (): boolean => false }
  const silent = (): void => undefined
  return createDomainEngine({
    egress,
    resolver: createResolver({ servers: [settings['DNS_SERVERS'] ?? ''], egress }),
    memory: createLocalMemory(),
    limiter: createLocalLimiter(),
    riskOf: () => 0,
    log: { debug: silent, info: silent, warn: silent, error: silent },
    disposable: nobody,
    parkingNs: nobody,
    parkingIp: nobody,
    rdapBootstrapUrl: settings['RDAP_BOOTSTRAP_URL'] ?? '',
    whoisServer: settings['WHOIS_SERVER'] ?? '',
    whoisPort: Number(settings['WHOIS_PORT']),
    nameServerPort: Number(settings['NAME_SERVER_PORT']),
    registryPerSecond: PER_SECOND,
  })
}

interface Task {
  readonly subjects: readonly string[]
  readonly states?: readonly (Json | undefined)[]
}

interface Group {
  readonly tasks: Task[]
  nextMs: number
  out: boolean
}

/** Hands out chunks, and what waits by its group, one task of a group at a time, as the dispatcher does. */
async function runList(engine: Engine<'domain'>): Promise<void> {
  const names = Array.from({ length: NAMES }, (_, at) => `name${at}.bench${at % REGISTRIES}`)
  const fresh: Task[] = []
  for (let at = 0; at < NAMES; at += CHUNK) fresh.push({ subjects: names.slice(at, at + CHUNK) })
  const groups = new Map<string, Group>()
  const now = { done: 0, busy: 0 }
  const work = async (task: Task, from?: Group): Promise<void> => {
    now.busy++
    const answers = await engine.run({
      ...task,
      depth: 'basic',
      lane: 'bulk',
      tenant: 'bench',
      signal: AbortSignal.timeout(600_000),
    })
    const waiting = new Map<
      string,
      { afterMs: number; subjects: string[]; states: (Json | undefined)[] }
    >()
    for (const [at, answer] of answers.entries()) {
      if (answer.kind === 'outcome') now.done++
      else {
        const held = waiting.get(answer.group) ?? { afterMs: 0, subjects: [], states: [] }
        held.afterMs = Math.max(held.afterMs, answer.afterMs)
        held.subjects.push(task.subjects[at] ?? '')
        held.states.push(answer.state)
        waiting.set(answer.group, held)
      }
    }
    for (const [name, { afterMs, ...later }] of waiting) {
      const group = groups.get(name) ?? { tasks: [], nextMs: 0, out: false }
      group.tasks.push(later)
      group.nextMs = Math.max(group.nextMs, performance.now() + afterMs)
      groups.set(name, group)
    }
    if (from !== undefined) from.out = false
    now.busy--
  }
  while (now.done < NAMES) {
    while (now.busy < SLOTS && fresh.length > 0) void work(fresh.shift() ?? { subjects: [] })
    for (const group of groups.values()) {
      if (now.busy >= SLOTS || group.out || group.nextMs > performance.now()) continue
      const task = group.tasks.shift()
      if (task === undefined) continue
      group.out = true
      void work(task, group)
    }
    await wait(LOOK_MS)
  }
}

async function callNowAndThen(engine: Engine<'domain'>, stop: AbortSignal): Promise<number[]> {
  const timesMs: number[] = []
  for (let at = 0; !stop.aborted; at++) {
    const startMs = performance.now()
    const [answer] = await engine.run({
      subjects: [`live${at}.bench${at % REGISTRIES}`],
      depth: 'basic',
      lane: 'live',
      tenant: 'bench',
      signal: AbortSignal.timeout(15_000),
    })
    if (answer?.kind !== 'outcome' || answer.status !== 'answered') timesMs.push(Infinity)
    else timesMs.push(performance.now() - startMs)
    await wait(LIVE_EVERY_MS, undefined, { signal: stop }).catch(() => undefined)
  }
  return timesMs
}

function mostInASecond(times: readonly number[]): number {
  let most = 0
  let first = 0
  for (const [last, atMs] of times.entries()) {
    while (atMs - (times[first] ?? atMs) >= 1_000) first++
    most = Math.max(most, last - first + 1)
  }
  return most
}
