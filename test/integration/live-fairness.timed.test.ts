import { setTimeout as wait } from 'node:timers/promises'
import { backends, type Backend } from '@plumbline/testkit/backends'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { startService, type Account, type TestService } from '@plumbline/testkit/service'
import { expect, test } from 'vitest'
import { spawnSimnet } from '../simnet/child.ts'

// Real workers, and mail servers of which every other one accepts connections and stays silent.

const SLOW_SHARE = 8
const FLOOD = 60
const QUICK = 12

interface Scene extends AsyncDisposable {
  readonly service: TestService
  readonly flooder: Account
  readonly other: Account
}

/** A worker with real engines, this many hosts, and a share of slow calls for each account. */
async function openScene(
  { redisUrl, name }: Backend,
  hosts: number,
  slowShare: number,
): Promise<Scene> {
  await using stack = new AsyncDisposableStack()
  const simnet = stack.use(
    await spawnSimnet({
      bulkDomains: { prefix: name, count: hosts, kinds: ['silent', 'no-tls'] },
    }),
  )
  const database = stack.use(await createTestDatabase())
  const service = stack.use(
    await startService({
      databaseUrl: database.url,
      redisUrl,
      engines: 'real',
      workers: [['email']],
      env: { ...simnet.settings, LIVE_SLOW_PER_ACCOUNT: String(slowShare) },
    }),
  )
  const flooder = await service.account({ credits: 1_000 })
  const other = await service.account({ credits: 1_000 })
  const owned = stack.move()
  return { service, flooder, other, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

test('calls to responsive hosts are answered while another account waits for silent ones; its calls beyond its share are refused, free', async () => {
  await Promise.all(backends().map(runOn))
})

async function runOn(backend: Backend): Promise<void> {
  const { name } = backend
  await using scene = await openScene(backend, 400, SLOW_SHARE)
  const { service, flooder, other } = scene
  const before = await remaining(service, flooder)
  let openCount = FLOOD
  const flood = Array.from({ length: FLOOD }, async (_, at) => {
    const response = await ask(service, flooder, `user${at}@${name}${at * 2}.example`)
    openCount -= 1
    return response
  })
  // As many as wait for silent hosts would have filled a worker that counts jobs.
  for (let at = 0; at < QUICK; at += 1) {
    const response = await ask(service, other, `user${at}@${name}${at * 2 + 1}.example`)
    expect(response.status).toBe(200)
    expect(openCount).toBeGreaterThanOrEqual(SLOW_SHARE)
  }
  const answers = await Promise.all(flood)
  const refused = answers.filter(({ status }) => status === 429)
  const answered = answers.filter(({ status }) => status === 200)
  expect(refused.length + answered.length).toBe(FLOOD)
  expect(answered.length).toBe(SLOW_SHARE)
  for (const { headers } of refused) {
    expect(headers.get('retry-after')).toBe('1')
    expect(headers.get('x-credits-charged')).toBe('0')
  }
  await expect.poll(() => openDebits(service, flooder)).toBe(0)
  expect(before - (await remaining(service, flooder))).toBe(answered.length)
}

test('once too many calls wait for a provider that is silent, those of any account to it are refused, free, and those to others answered', async () => {
  await Promise.all(backends().map(runSilentProviderOn))
})

async function runSilentProviderOn(backend: Backend): Promise<void> {
  const { name } = backend
  // Only the provider's share is reached.
  await using scene = await openScene(backend, 2, 1_000)
  const { service, flooder, other } = scene
  const before = await remaining(service, flooder)
  const flood: Promise<Response>[] = []
  const statuses: number[] = []
  while (!statuses.includes(429) && flood.length < 300) {
    const call = ask(service, flooder, `user${flood.length}@${name}0.example`)
    flood.push(call)
    call.then(
      ({ status }) => statuses.push(status),
      () => undefined,
    )
    await wait(25)
  }
  expect(statuses).toContain(429)
  const refused = await ask(service, other, `other@${name}0.example`)
  expect(refused.status).toBe(429)
  expect(refused.headers.get('retry-after')).toBe('1')
  expect(refused.headers.get('x-credits-charged')).toBe('0')
  expect((await ask(service, other, `other@${name}1.example`)).status).toBe(200)
  const answered = (await Promise.all(flood)).filter(({ status }) => status === 200)
  await expect.poll(() => openDebits(service, flooder)).toBe(0)
  expect(before - (await remaining(service, flooder))).toBe(answered.length)
}

function ask(service: TestService, account: Account, email: string): Promise<Response> {
  return service.call(account.liveKey, 'POST', '/v1/email', { email })
}

async function remaining({ db }: TestService, { id }: Account): Promise<number> {
  const { rows } = await db.pool.query<{ sum: number }>(
    `select sum(allowance_delta + packs_delta)::int as sum from credit_entries
     where account_id = $1`,
    [id],
  )
  return rows[0]?.sum ?? Number.NaN
}

async function openDebits({ db }: TestService, { id }: Account): Promise<number> {
  const { rows } = await db.pool.query<{ count: number }>(
    'select count(*)::int as count from credit_unanswered where account_id = $1',
    [id],
  )
  return rows[0]?.count ?? Number.NaN
}
