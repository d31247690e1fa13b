import { setTimeout as wait } from 'node:timers/promises'
import { createInstallationKey } from '@plumbline/pipeline/installation-key'
import { groupNameOf } from '@plumbline/pipeline/keyed-stores'
import { expect, test } from 'vitest'
import { spawnSimnet } from '../simnet/child.ts'
import type { SimnetProcess } from '../simnet/child.ts'
import { backends } from '@plumbline/testkit/backends'
import type { Backend } from '@plumbline/testkit/backends'
import { formOf, readLines, submitList, untilList } from '@plumbline/testkit/lists'
import type { Caller } from '@plumbline/testkit/lists'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { startService } from '@plumbline/testkit/service'
import type { TestService } from '@plumbline/testkit/service'

// Real workers against mail servers that keep a log of their own. The large provider is domain 0 of
// each test's own names: it has one host, so that its log is the log of the whole group.

const WINDOW_MS = 60_000
/** Domains beside the one that is held to its limit. */
const OTHERS = 40
const PER_DOMAIN = 10
const QUICK = { CHUNK_RECORDS: '100', LEASE_SECONDS: '3', SAVE_SECONDS: '1', SWEEP_SECONDS: '1' }
const INSTALLATION_KEY = 'the key of a test, which hides nothing'

test('rate and connection caps hold in every 60-second window with three workers', async () => {
  const [perMinute, connections] = [120, 2]
  const runOn = async (backend: Backend): Promise<void> => {
    await using scene = await openScene(backend, 'cap', 3, {
      SMTP_RECIPIENTS_PER_MINUTE: String(perMinute),
      SMTP_CONNECTIONS_PER_HOST: String(connections),
    })
    const others = Array.from({ length: 90 }, (_, at) => `user${at}@cap${1 + (at % 30)}.example`)
    await submit(scene.caller, [...addressesAt('cap0', 400), ...others])
    await wait(WINDOW_MS * 1.25)
    const { smtp } = await scene.simnet.counters()
    for (const [host, seen] of Object.entries(smtp)) {
      expect([host, mostWithin(seen.rcptTimes, WINDOW_MS) <= perMinute]).toEqual([host, true])
      expect([host, seen.mostOpen <= connections]).toEqual([host, true])
      expect([host, seen.dataCommands]).toEqual([host, 0])
    }
    // Held to its limit, not starved below it.
    expect(mostWithin(smtp['mx.cap0.example']?.rcptTimes ?? [], WINDOW_MS)).toBeGreaterThan(
      perMinute * 0.7,
    )
  }
  await Promise.all(backends().map(runOn))
}, 240_000)

test.each(backends())(
  'a provider held to 1 connection and 60 recipients a minute delays no other domain by a second on $name',
  async (backend) => {
    // A wire so long that it, and not the machine, says how long a list takes.
    const limits = { SMTP_RECIPIENTS_PER_MINUTE: '60', SMTP_CONNECTIONS_PER_HOST: '1' }
    await using scene = await openScene(backend, 'side', 3, limits, 300)
    // 40 % of the mixed list; each time other domains, so that nothing is remembered. Those of a domain
    // stand in one chunk: they are held to one connection, too, and are not to wait for each other.
    const othersFrom = (first: number): readonly string[] =>
      Array.from({ length: OTHERS }, (_, at) => addressesAt(`side${first + at}`, PER_DOMAIN)).flat()
    const held = addressesAt('side0', 1_200)
    const alone: number[] = []
    const beside: number[] = []
    // In turn, and the better of two, as the machine may be busy with something else.
    for (const [round, first] of [1, 1 + 2 * OTHERS].entries()) {
      alone.push(await othersMs(scene, othersFrom(first), first))
      const mixed = interleaved(
        held.slice(round * 600, (round + 1) * 600),
        othersFrom(first + OTHERS),
      )
      beside.push(await othersMs(scene, mixed, first + OTHERS))
    }
    expect(Math.min(...beside)).toBeLessThan(Math.min(...alone) + 1_000)
  },
)

test.each(backends())(
  'kill -9 of a worker repeats no more probes than were in flight on $name',
  async (backend) => {
    const kills = 3
    const domains = 4
    await using scene = await openScene(
      backend,
      'kill',
      1,
      { SMTP_RECIPIENTS_PER_MINUTE: '1000000', SMTP_CONNECTIONS_PER_HOST: '20' },
      50,
    )
    const { service, simnet, caller } = scene
    const addresses = Array.from({ length: 6_000 }, (_, at) => {
      return `user${Math.floor(at / domains)}@kill${at % domains}.example`
    })
    const id = await submit(caller, addresses)
    const worker = service.workers[0]
    let inFlight = 0
    for (let kill = 1; kill <= kills; kill++) {
      await untilProbed(simnet, (addresses.length * kill) / (kills + 2))
      // Held still, so that what is counted is what the kill meets.
      process.kill(worker?.process.pid ?? Number.NaN, 'SIGSTOP')
      const hosts = Object.values((await simnet.counters()).smtp)
      inFlight += hosts.reduce((sum, { open }) => sum + open * PER_TRANSACTION, 0)
      await worker?.kill('SIGKILL')
      await worker?.restart()
    }
    await untilList(caller, id)
    const lines = await readLines(caller, id)
    expect(lines.filter(({ status }) => status === 'error')).toEqual([])
    const probes = await simnet.recipients()
    expect(addresses.filter((address) => !probes.has(address))).toEqual([])
    const repeats = addresses.reduce((sum, address) => sum + (probes.get(address) ?? 0) - 1, 0)
    expect(inFlight).toBeLessThan(addresses.length / 2)
    expect(repeats).toBeLessThanOrEqual(inFlight)
  },
)

/** Recipients that one transaction names at most; a connection has one transaction in flight. */
const PER_TRANSACTION = 20

interface Scene extends AsyncDisposable {
  readonly service: TestService
  readonly simnet: SimnetProcess
  readonly caller: Caller
}

async function openScene(
  { redisUrl }: Backend,
  prefix: string,
  emailWorkers: number,
  env: Readonly<Record<string, string>>,
  rttMs = 0,
): Promise<Scene> {
  await using stack = new AsyncDisposableStack()
  const simnet = stack.use(
    await spawnSimnet({
      rttMs,
      countsRecipients: true,
      bulkDomains: { prefix, count: 201, kinds: ['no-tls'] },
    }),
  )
  const database = stack.use(await createTestDatabase())
  const service = stack.use(
    await startService({
      databaseUrl: database.url,
      redisUrl,
      engines: 'real',
      workers: [...Array.from({ length: emailWorkers }, () => ['email']), ['batch']],
      env: { ...QUICK, INSTALLATION_KEY, ...simnet.settings, ...env },
    }),
  )
  const account = await service.account({ credits: 20_000 })
  const owned = stack.move()
  return {
    service,
    simnet,
    caller: { service, account, key: account.liveKey },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

function addressesAt(domain: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, at) => `user${at}@${domain}.example`)
}

async function submit(caller: Caller, addresses: readonly string[]): Promise<string> {
  const form = formOf({ product: 'email' }, `email\n${addresses.join('\n')}\n`)
  return (await submitList(caller, form)).id
}

/** Three of the first to two of the second, as a shuffled list has them. */
function interleaved(first: readonly string[], second: readonly string[]): readonly string[] {
  return second.flatMap((other, at) => {
    const from = Math.floor((at * first.length) / second.length)
    const to = Math.floor(((at + 1) * first.length) / second.length)
    return [...first.slice(from, to), other]
  })
}

/**
 * Runs a list until nothing of it is open but what waits for the provider, and cancels the rest.
 * Milliseconds from its submission until the last of the others was asked, by their servers' log.
 */
async function othersMs(
  scene: Scene,
  addresses: readonly string[],
  first: number,
): Promise<number> {
  const { service, simnet, caller } = scene
  const beganMs = Date.now()
  const id = await submit(caller, addresses)
  const hosts = Array.from({ length: OTHERS }, (_, at) => `mx.side${first + at}.example`)
  const heldGroup = groupNameOf('mx:side0.example', createInstallationKey(INSTALLATION_KEY))
  const signal = AbortSignal.timeout(60_000)
  for (;;) {
    signal.throwIfAborted()
    const { rows } = await service.db.pool.query<{ open: number }>(
      'select count(*)::int as open from tasks where group_key is distinct from $1',
      [heldGroup],
    )
    const { smtp } = await simnet.counters()
    const asked = hosts.flatMap((host) => smtp[host]?.rcptTimes ?? [])
    if (asked.length >= OTHERS * PER_DOMAIN && rows[0]?.open === 0) {
      await service.call(caller.key, 'POST', `/v1/batches/${id}/cancel`)
      await untilList(caller, id)
      return Math.max(...asked) - beganMs
    }
    await wait(20)
  }
}

async function untilProbed(simnet: SimnetProcess, count: number): Promise<void> {
  const signal = AbortSignal.timeout(60_000)
  for (;;) {
    signal.throwIfAborted()
    const { smtp } = await simnet.counters()
    const probes = Object.values(smtp).reduce((sum, { rcptTimes }) => sum + rcptTimes.length, 0)
    if (probes >= count) return
    await wait(20)
  }
}

/** The most time stamps, in order, that fall into any window of this length. */
function mostWithin(times: readonly number[], windowMs: number): number {
  let most = 0
  let first = 0
  times.forEach((atMs, last) => {
    while (atMs - (times[first] ?? atMs) >= windowMs) first++
    most = Math.max(most, last - first + 1)
  })
  return most
}
