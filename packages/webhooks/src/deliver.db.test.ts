import { createAccount } from '@plumbline/db/accounts'
import { inTransaction, type Db } from '@plumbline/db/database'
import { createWebhook, newWebhookId } from '@plumbline/db/webhooks/endpoints'
import type { HttpAnswer } from '@plumbline/net/http'
import { createInstallationKey } from '@plumbline/pipeline/installation-key'
import { openTestDatabase } from '@plumbline/testkit/database'
import { expect, test } from 'vitest'
import { startDelivery } from './deliver.ts'
import { encryptSecret } from './secret-box.ts'
import { newSecret } from './signature.ts'

const installationKey = createInstallationKey('the key of a test, which hides nothing')
const quiet = (): void => undefined
const LOG = { debug: quiet, info: quiet, warn: quiet, error: quiet }

test('slow endpoints of an account leave slots for the messages of others', async () => {
  await using stack = new AsyncDisposableStack()
  const { db, account, addEndpoints, send } = await openStage(stack)
  // More endpoints than there are slots, none of which answers.
  await send(await addEndpoints(await account(), 'https://slow.example/', 300))

  const sent: string[] = []
  stack.use(
    startDelivery({
      db,
      log: LOG,
      installationKey,
      timeoutMs: 60_000,
      retrySeconds: [1],
      failingDays: 5,
      send: async ({ url, signal }) => {
        sent.push(url)
        if (url.startsWith('https://slow')) await aborted(signal)
        return ANSWER
      },
    }),
  )
  await expect.poll(() => sent.length).toBeGreaterThan(0)
  const others = await Promise.all(
    [1, 2, 3].map(async (no) => addEndpoints(await account(), `https://other.example/${no}`, 1)),
  )
  await send(others.flat())
  await expect
    .poll(() => sent.filter((url) => url.startsWith('https://other')).toSorted())
    .toEqual([1, 2, 3].map((no) => `https://other.example/${no}`))
  expect(sent.filter((url) => url.startsWith('https://slow'))).toHaveLength(64)
})

test('endpoints that failed and wait for nothing leave slots for others that failed', async () => {
  await using stack = new AsyncDisposableStack()
  const { db, account, addEndpoints, send } = await openStage(stack)
  await send(await addEndpoints(await account(), 'https://dead.example/', 40))
  let isDown = true
  let sentCount = 0
  stack.use(
    startDelivery({
      db,
      log: LOG,
      installationKey,
      timeoutMs: 60_000,
      retrySeconds: [],
      failingDays: 5,
      send: async () => {
        sentCount += 1
        return isDown ? { ...ANSWER, status: 500 } : ANSWER
      },
    }),
  )
  const failedCount = async (): Promise<number> => {
    const { rows } = await db.pool.query<{ count: number }>(
      `select count(*)::int as count from webhook_deliveries where status = 'failed'`,
    )
    return rows[0]?.count ?? 0
  }
  await expect.poll(failedCount, { timeout: 10_000 }).toBe(40)
  const other = await addEndpoints(await account(), 'https://other.example/', 1)
  await send(other)
  await expect.poll(failedCount).toBe(41)
  isDown = false
  await send(other)
  await expect.poll(() => sentCount, { timeout: 5_000 }).toBe(42)
})

test.each([
  ['the only page', ['']],
  ['a page before the last', ['wep_1', '']],
])('a wake-up during the query of %s is followed by another query at once', async (_, pages) => {
  await using stack = new AsyncDisposableStack()
  const db = stack.use(await openTestDatabase(1))
  const queriedAt: number[] = []
  const isWoken = Promise.withResolvers<void>()
  const delivery = stack.use(
    startDelivery({
      db: withQueries(db, async () => {
        queriedAt.push(performance.now())
        if (queriedAt.length === 1) await isWoken.promise
        return { rows: [{ id: null, after: pages[queriedAt.length - 1] ?? '' }] }
      }),
      log: LOG,
      installationKey,
      timeoutMs: 60_000,
      retrySeconds: [1],
      failingDays: 5,
      send: async () => ANSWER,
    }),
  )
  delivery.wake()
  isWoken.resolve()
  await expect.poll(() => queriedAt.length, { timeout: 5_000 }).toBeGreaterThan(pages.length)
  const [first = 0] = queriedAt
  expect((queriedAt[pages.length] ?? 0) - first).toBeLessThan(900)
})

interface Stage {
  readonly db: Db
  account(): Promise<string>
  addEndpoints(accountId: string, url: string, count: number): Promise<readonly string[]>
  /** Stores a due message for each endpoint. */
  send(endpointIds: readonly string[]): Promise<void>
}

async function openStage(stack: AsyncDisposableStack): Promise<Stage> {
  const db = stack.use(await openTestDatabase(4))
  let sends = 0
  return {
    db,
    account: async () => (await createAccount(db, { email: 'a@b.example', plan: 'free' })).id,
    addEndpoints: async (accountId, url, count) => {
      const ids = Array.from({ length: count }, () => newWebhookId())
      const events = ['batch.completed'] as const
      await inTransaction(db, async (tx) => {
        for (const id of ids) {
          const secret = encryptSecret(installationKey, id, newSecret())
          await createWebhook(tx, { id, accountId, url, events, secret, most: 1_000 })
        }
      })
      return ids
    },
    send: async (endpointIds) => {
      await db.pool.query(
        `insert into webhook_deliveries (id, endpoint_id, webhook_id, type, subject, body)
         select 'dlv_' || substr(md5(id || $2::int), 1, 16), id, 'msg_1', 'batch.completed', '', '{}'
         from unnest($1::text[]) id`,
        [endpointIds, ++sends],
      )
    },
  }
}

/** The database with another function for the queries of its pool. */
function withQueries(db: Db, query: () => Promise<unknown>): Db {
  const pool = new Proxy(db.pool, {
    get: (target, name): unknown => (name === 'query' ? query : Reflect.get(target, name)),
  })
  return { ...db, pool }
}

const ANSWER: HttpAnswer = {
  kind: 'response',
  status: 200,
  headers: {},
  body: new Uint8Array(),
  cut: false,
  url: '',
  redirects: 0,
}

async function aborted(signal: AbortSignal | undefined): Promise<void> {
  await new Promise((resolve) => signal?.addEventListener('abort', resolve))
}
