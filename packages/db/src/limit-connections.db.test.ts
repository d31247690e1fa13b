import { createTestDatabase } from '@plumbline/testkit/postgres'
import { sql } from 'kysely'
import { afterEach, expect, test, vi } from 'vitest'
import { CONNECT_MS, openDatabase } from './database.ts'
import { limitConnections } from './limit-connections.ts'

const MOST = 2

afterEach(() => void vi.useRealTimers())

async function openFixture() {
  await using stack = new AsyncDisposableStack()
  const database = stack.use(await createTestDatabase())
  const db = stack.use(
    openDatabase({ url: database.url, poolSize: MOST + 1, applicationName: 'test' }),
  )
  const owned = stack.move()
  return {
    db,
    view: limitConnections(db, MOST),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

test('what waits for room in the view leaves the last connection of the pool free', async () => {
  await using fixture = await openFixture()
  const { db, view } = fixture
  const held = await Promise.all(Array.from({ length: MOST }, () => view.pool.connect()))
  const waiting = [
    view.pool.connect().then((client) => client.release()),
    view.pool.query('select 1'),
    view.kysely.transaction().execute(async (tx) => void (await sql`select 1`.execute(tx))),
  ]
  const first = await Promise.race([db.pool.query('select 2 as two'), ...waiting])
  expect(first).toMatchObject({ rows: [{ two: 2 }] })
  for (const client of held) client.release()
  await Promise.all(waiting)
})

test('a failed statement, a failed transaction and a released connection make room', async () => {
  await using fixture = await openFixture()
  const { view } = fixture
  for (let time = 0; time < MOST + 1; time += 1) {
    await expect(view.pool.query('select 1 / 0')).rejects.toThrow('division by zero')
    const failing = view.kysely.transaction().execute(async () => {
      throw new Error('not done')
    })
    await expect(failing).rejects.toThrow('not done')
    const client = await view.pool.connect()
    client.release()
  }
})

test('a statement that finds no room in time fails like one without a connection', async () => {
  await using fixture = await openFixture()
  const { view } = fixture
  const held = await Promise.all(Array.from({ length: MOST }, () => view.pool.connect()))
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const late = view.pool.query('select 1')
  vi.advanceTimersByTime(CONNECT_MS)
  await expect(late).rejects.toThrow('timeout exceeded when trying to connect')
  vi.useRealTimers()
  for (const client of held) client.release()
  for (let time = 0; time < MOST + 1; time += 1) await view.pool.query('select 1')
})
