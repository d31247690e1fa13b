import { execFile } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileOfProgram } from '@plumbline/testkit/bundled-programs'
import { expect, test } from 'vitest'
import { spawnSimnet } from '../simnet/child.ts'
import type { Registry } from '../simnet/world/registries.ts'
import { backends } from '@plumbline/testkit/backends'
import { formOf, readLines, submitBatch, untilBatch, type Caller } from '@plumbline/testkit/batches'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { startService, type TestService } from '@plumbline/testkit/service'

// Real workers against registries that log their queries.

const CLI = fileOfProgram('cli')
const QUICK = { CHUNK_RECORDS: '50', LEASE_SECONDS: '3', SAVE_SECONDS: '1', SWEEP_SECONDS: '1' }
const PER_SECOND = 5
const CONCURRENCY = 2
const REGISTRIES = 3
const NAMES = 90

/** Registries whose replies take from no time to longer than the window of their rate limit. */
function registry(at: number): Registry {
  const rdap = {
    host: `rdap.limits-${at}.net`,
    path: '/',
    perSecond: PER_SECOND,
    burst: PER_SECOND,
    delayMs: [0, 80, 400][at] ?? 0,
  }
  return { name: `limits-${at}`, tlds: [`limits${at}`], rdap }
}

test.each(backends())(
  'three workers respect the rate of every registry in any second, and its concurrent queries, on $name',
  async ({ redisUrl }) => {
    const registries = Array.from({ length: REGISTRIES }, (_, at) => registry(at))
    await using simnet = await spawnSimnet({ registries })
    await using database = await createTestDatabase()
    await using service = await startService({
      databaseUrl: database.url,
      redisUrl,
      engines: 'real',
      workers: [['domain'], ['domain'], ['domain'], ['batch']],
      env: { ...QUICK, ...simnet.settings, REGISTRY_QUERIES_PER_SECOND: String(PER_SECOND) },
    })
    const caller = await callerOf(service)
    const names = Array.from({ length: NAMES }, (_, at) => `name${at}.limits${at % REGISTRIES}`)
    const form = formOf({ product: 'domain', explain: 'true' }, `domain\n${names.join('\n')}\n`)
    const { id } = await submitBatch(caller, form)
    expect((await untilBatch(caller, id)).status).toBe('completed')
    const lines = await readLines(caller, id)
    expect(lines.filter(({ status }) => status === 'error')).toEqual([])
    const counters = await simnet.counters()
    for (const { rdap } of registries) {
      const seen = counters.registries[rdap?.host ?? '']
      expect(seen).toMatchObject({ queries: NAMES / REGISTRIES, refused: 0 })
      expect(mostWithin(seen?.times ?? [], 1_000)).toBeLessThanOrEqual(PER_SECOND)
      expect(seen?.mostOpen).toBeLessThanOrEqual(CONCURRENCY)
    }
  },
)

test('a running worker uses the RDAP servers of a data update', async () => {
  const listsDir = await mkdtemp(join(tmpdir(), 'plumbline-rdap-list-'))
  await using stack = new AsyncDisposableStack()
  stack.defer(() => rm(listsDir, { recursive: true, force: true }))
  const simnet = stack.use(await spawnSimnet({ registries: [registry(0)] }))
  const database = stack.use(await createTestDatabase())
  const service = stack.use(
    await startService({
      databaseUrl: database.url,
      engines: 'real',
      workers: [['domain']],
      env: { ...simnet.settings, LISTS_DIR: listsDir, RDAP_BOOTSTRAP_URL: 'http://127.0.0.1:1/' },
    }),
  )
  const { account } = await callerOf(service)
  const registered = async (name: string): Promise<unknown> => {
    const body = { domain: name, explain: true }
    const response = await service.call(account.liveKey, 'POST', '/v1/domain', body)
    return JSON.stringify(await response.json())
  }
  expect(await registered('before.limits0')).not.toContain('"unregistered"')
  const rdapPort = new URL(simnet.settings['RDAP_BOOTSTRAP_URL'] ?? '').port
  const site = stack.use(await startList(`http://rdap.limits-0.net:${rdapPort}/`))
  const updates = await updateData({
    ...simnet.settings,
    LISTS_DIR: listsDir,
    RDAP_BOOTSTRAP_URL: site.url,
  })
  expect(updates).toContainEqual(
    expect.objectContaining({ file: 'rdap-dns.json', status: 'updated', count: 700 }),
  )
  let tries = 0
  await expect
    .poll(() => registered(`after${tries++}.limits0`), { interval: 500 })
    .toContain('"unregistered"')
})

async function callerOf(service: TestService): Promise<Caller> {
  const account = await service.account({ credits: 10_000 })
  return { service, account, key: account.liveKey }
}

/**
 * A list of IANA's size and form, later than any packaged one, with one server for the simulated
 * zone.
 */
async function startList(server: string): Promise<AsyncDisposable & { readonly url: string }> {
  const others = Array.from({ length: 699 }, (_, at) => `zone${at}`)
  const list = {
    publication: '2099-01-01T00:00:00Z',
    services: [
      [['limits0'], [server]],
      [others, ['https://rdap.example/']],
    ],
  }
  const site = createServer((_, response) => response.end(JSON.stringify(list)))
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve))
  const { port } = site.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/dns.json`,
    [Symbol.asyncDispose]: async () => void (await new Promise((resolve) => site.close(resolve))),
  }
}

/** Runs `data update`; the other lists cannot be reached, which does not matter here. */
async function updateData(env: Readonly<Record<string, string>>): Promise<readonly object[]> {
  const words = ['--disable-warning=ExperimentalWarning', CLI, 'data', 'update', '--json']
  const out = await new Promise<string>((resolve) => {
    execFile(process.execPath, words, { env: { ...process.env, ...env } }, (_, text) =>
      resolve(text),
    )
  })
  return (JSON.parse(out) as { updates: readonly object[] }).updates
}

function mostWithin(times: readonly number[], windowMs: number): number {
  let first = 0
  let most = 0
  for (const [last, atMs] of times.entries()) {
    while (atMs - (times[first] ?? atMs) >= windowMs) first++
    most = Math.max(most, last - first + 1)
  }
  return most
}
