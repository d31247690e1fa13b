import { acceptAllKey, probeResultKey } from '@plumbline/email/probe-cache'
import { openConnections, type Connections } from '@plumbline/pipeline/connections'
import { createInstallationKey } from '@plumbline/pipeline/installation-key'
import { formOf, readLines, runBatch, type Caller } from '@plumbline/testkit/batches'
import { memberAt } from '@plumbline/testkit/crash-harness'
import { blockChange, type BlockedChange, type RowChange } from '@plumbline/testkit/block-change'
import { expectLedgerIntact } from '@plumbline/testkit/invariants'
import { findMarks } from '@plumbline/testkit/marks'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { startRedis } from '@plumbline/testkit/redis'
import { startService, type TestService } from '@plumbline/testkit/service'
import { isSoak } from '@plumbline/testkit/soak'
import { startReceiver } from '@plumbline/testkit/webhook-receiver'
import { WITHOUT_REDIS } from '@plumbline/testkit/without-redis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createRandom } from '../simnet/random.ts'
import { ask, storedTexts, untilErased } from './erasure-service.ts'

// The erasing process is killed at exact moments, one after another, within one erasure: the database
// delays the next change until the process is dead.

const CHUNK_RECORDS = 25
/** Chunks of the batch, and those that a step processes: the second step is not the last. */
const CHUNKS = 20
const CHUNKS_A_STEP = 4
const SEEDS = isSoak() ? [1, 2, 3, 4, 5] : [1]
const KEY = 'the key of a test, which hides nothing'

describe.each([
  { name: 'postgres', onRedis: false },
  ...(WITHOUT_REDIS ? [] : [{ name: 'redis', onRedis: true }]),
])('on $name', ({ onRedis }) => {
  const stack = new AsyncDisposableStack()
  let service: TestService
  let connections: Connections
  let databaseUrl: string
  let redisUrl: string | null = null

  beforeAll(async () => {
    const redis = onRedis ? await startRedis() : null
    stack.defer(async () => await redis?.stop())
    redisUrl = redis?.url ?? null
    const database = stack.use(await createTestDatabase())
    databaseUrl = database.url
    service = stack.use(
      await startService({
        databaseUrl,
        redisUrl: redis?.url,
        workers: [['email'], ['batch']],
        env: {
          CHUNK_RECORDS: String(CHUNK_RECORDS),
          LEASE_SECONDS: '3',
          SWEEP_SECONDS: '1',
          EGRESS_ALLOW: '127.0.0.1/32',
          INSTALLATION_KEY: KEY,
        },
      }),
    )
    connections = stack.use(
      await openConnections({
        databaseUrl,
        redisUrl: redis?.url,
        installationKey: createInstallationKey(KEY),
        name: 'test',
        log: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
      }),
    )
  })
  afterAll(() => stack.disposeAsync())

  test.each(SEEDS)(
    'killed at any moment, an erasure ends with a correct receipt and no trace (seed %i)',
    async (seed) => {
      const email = `qzgone${seed}4815@b.example`
      const account = await service.account({ credits: 2_000 })
      const caller: Caller = { service, account, key: account.liveKey }
      const { id: batch, rows } = await fill(caller, email)
      const fact = probeResultKey(email, account.id, { shareFindings: true })
      const other = acceptAllKey('b.example')
      const ttlMs = 3_600_000
      await connections.memory.set([fact, other].map((key) => ({ key, value: 1, ttlMs })))
      expect(await placesWith(email)).not.toEqual([])

      await using held = await holdAll(momentsOf(seed, onRedis))
      const id = await beginWithKill(caller, email)
      for (const [at, moment] of held.each.entries()) {
        await moment.reached()
        const worker = memberAt(service, 1)
        await worker.kill('SIGKILL')
        await moment.release()
        // The first waits for the lease of the killed process; then the test makes it expire.
        if (at > 0) await endLease(id)
        await worker.restart()
      }
      const receipt = await untilErased(caller, id)
      expect(receipt.erased).toEqual({
        batches: 2,
        rows: rows + 1,
        uploads: 1,
        results: 2,
        answers: 1,
        deliveries: 1,
        facts: 1,
        purchases: 0,
      })
      const isStored = (place: string): boolean => !place.includes('/scratch/')
      expect((await placesWith(email)).filter(isStored)).toEqual([])
      // Unfinished files of killed processes are swept by others within half a minute.
      await expect.poll(() => placesWith(email)).toEqual([])
      expect(await connections.memory.get([fact, other])).toEqual([undefined, 1])
      const lines = await readLines(caller, batch)
      expect(lines).toHaveLength(CHUNK_RECORDS * CHUNKS)
      expect(lines.filter(({ error }) => error?.startsWith('erased:') === true)).toHaveLength(rows)
      await expectLedgerIntact(service)
    },
  )

  /**
   * Stores a value in a batch, a lookup, a stored response, and a message; returns the number of rows
   * of the batch that have it.
   */
  async function fill(
    caller: Caller,
    email: string,
  ): Promise<{ readonly id: string; readonly rows: number }> {
    await using receiver = await startReceiver()
    const events = ['lookup.completed']
    const { url } = receiver
    await service.call(caller.key, 'POST', '/v1/webhooks', { url, events })
    const lines = Array.from({ length: CHUNK_RECORDS * CHUNKS }, (_, at) => {
      // In each chunk once, in the first as the subject.
      if (at === 0) return `${email},first`
      return `person${at}@b.example,${at % CHUNK_RECORDS === 3 ? `was ${email}` : 'nobody'}`
    })
    const csv = ['email,note', ...lines].join('\n')
    const { id } = await runBatch(caller, formOf({ product: 'email', name: `of ${email}` }, csv))
    await ask(caller, '/v1/email', { email }, { 'idempotency-key': 'kept' })
    const later = await ask(caller, '/v1/email', { email }, { prefer: 'respond-async' })
    expect(later.status).toBe(202)
    await expect.poll(() => receiver.received.length).toBe(1)
    // The message was delivered, and its record says so.
    const arrived = async (): Promise<number | null> =>
      (await service.db.pool.query("select from webhook_deliveries where status = 'delivered'"))
        .rowCount
    await expect.poll(arrived).toBeGreaterThan(0)
    return { id, rows: CHUNKS + 1 }
  }

  /** The API is killed while it records an erasure; the caller gets no response and sends it again. */
  async function beginWithKill(caller: Caller, email: string): Promise<string> {
    const send = async (): Promise<Response> =>
      await ask(caller, '/v1/erase', { email }, { 'idempotency-key': 'once' })
    const noting = await blockChange(databaseUrl, { table: 'erasures', change: 'insert' })
    try {
      const lost = send().catch(() => undefined)
      await noting.reached()
      await service.api.kill('SIGKILL')
      expect(await lost).toBeUndefined()
      await noting.release()
    } finally {
      await noting[Symbol.asyncDispose]()
    }
    await service.api.restart()
    // A request that did not end within its time loses its claim on the key.
    await service.db.pool.query(
      "update idempotency_keys set claimed_at = '-infinity' where status is null",
    )
    const begun = await send()
    expect(begun.status).toBe(202)
    const ids = await service.db.pool.query<{ id: string }>(
      'select id from erasures where account_id = $1',
      [caller.account.id],
    )
    expect(ids.rows).toEqual([{ id: (/ers_\w+/.exec(await begun.text()) ?? [])[0] }])
    return ids.rows[0]?.id ?? ''
  }

  async function endLease(id: string): Promise<void> {
    await service.db.pool.query("update erasures set lease_until = '-infinity' where id = $1", [id])
  }

  /** Delays all these changes. */
  async function holdAll(
    moments: readonly RowChange[],
  ): Promise<AsyncDisposable & { readonly each: readonly BlockedChange[] }> {
    const owned = new AsyncDisposableStack()
    const each: BlockedChange[] = []
    for (const moment of moments) each.push(owned.use(await blockChange(databaseUrl, moment)))
    return { each, [Symbol.asyncDispose]: () => owned.disposeAsync() }
  }

  /** Places in all stores that contain a value. */
  async function placesWith(email: string): Promise<readonly string[]> {
    const find = findMarks([email], [email])
    const stored = await storedTexts(service, redisUrl)
    return stored.flatMap(({ place, text }) => find(place, text).map(() => place))
  }
})

/** A moment at which the process is killed. */
interface Moment extends RowChange {
  /** Whether every run includes it, and every run on Redis; of the others, the seed picks one. */
  readonly always?: 'everywhere' | 'on Postgres'
}

/** Changes of an erasure, in their order; the seed selects some of them, a soak uses all. */
function momentsOf(seed: number, onRedis: boolean): readonly RowChange[] {
  const random = createRandom(seed, `erasure kills ${onRedis}`)
  const blanking = (no: number): Moment => ({
    table: 'chunks',
    change: 'update',
    when: `new.no = ${no} and new.cells <> old.cells`,
  })
  const moments: readonly Moment[] = [
    // Some chunks of the step are written, and nothing is committed.
    blanking(random.int(CHUNKS_A_STEP)),
    // The first fact is deleted, which no rollback undoes.
    {
      table: 'erasures',
      change: 'update',
      when: "coalesce((new.counts->>'facts')::int, 0) > coalesce((old.counts->>'facts')::int, 0)",
      always: 'everywhere',
    },
    blanking(CHUNKS_A_STEP + random.int(CHUNKS_A_STEP)),
    // The upload is about to be removed.
    { table: 'batches', change: 'update', when: 'new.source_erased and not old.source_erased' },
    // It is removed, but this is not recorded.
    {
      table: 'file_removals',
      change: 'delete',
      when: "old.key like 'uploads/%'",
      always: 'on Postgres',
    },
    // The new result is stored, but not referenced yet.
    {
      table: 'batches',
      change: 'update',
      when: 'new.result_key <> old.result_key',
      always: 'on Postgres',
    },
    { table: 'idempotency_keys', change: 'update', when: "new.body = '' and old.body <> ''" },
    { table: 'webhook_deliveries', change: 'update', when: 'new.body <> old.body' },
    {
      table: 'erasures',
      change: 'update',
      when: "new.status = 'completed'",
      always: 'everywhere',
    },
  ]
  const picked = random.pick(moments.filter(({ always }) => always === undefined))
  return moments.filter(
    (moment) =>
      isSoak() ||
      moment === picked ||
      moment.always === 'everywhere' ||
      (moment.always === 'on Postgres' && !onRedis),
  )
}
