import { readdirSync, readFileSync } from 'node:fs'
import { BATCH_MOVES, BATCH_STATES, UNFINISHED_STATES } from '@plumbline/contract/batch'
import { ACCOUNT_STATES } from '@plumbline/contract/plans'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { expect, test } from 'vitest'
import { createAccount } from '../accounts.ts'
import { openDatabase, type Db } from '../database.ts'
import { insertBatch } from './rows.ts'
import { ENDED_STATES } from './states.ts'
import { isTask, NEW_TASK_STATES, TASK_MOVES, TASK_STATES, type TaskState } from './task-states.ts'

const ID = 'bat_1'

async function openFixture(): Promise<AsyncDisposable & { readonly db: Db }> {
  await using stack = new AsyncDisposableStack()
  const database = stack.use(await createTestDatabase())
  const db = stack.use(
    openDatabase({ url: database.url, poolSize: 1, applicationName: 'test', statementMs: 10_000 }),
  )
  const account = await createAccount(db, { email: 'ada@example.com', plan: 'pro' })
  const row = {
    id: ID,
    account_id: account.id,
    mode: 'live' as const,
    product: 'email' as const,
    name: null,
    explain: false,
    charge_unknown: true,
    default_country: null,
    auto_start: false,
    max_credits: null,
    retention_days: 30,
    requested: '{}',
    source_key: 'uploads/1',
    file_name: null,
    file_bytes: 1,
  }
  await insertBatch(db, row, 1_000)
  const owned = stack.move()
  return { db, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/** Forces the row into a state, and returns whether the database then allows a change. */
async function allows(db: Db, table: string, force: string, change: string): Promise<boolean> {
  await db.pool.query(`begin; set local session_replication_role = replica; ${force}; commit`)
  try {
    await db.pool.query(change)
    return true
  } catch (error) {
    expect(String(error)).toContain(`illegal move in ${table}`)
    return false
  }
}

test('the database allows a batch the moves in the table and no others', async () => {
  await using fixture = await openFixture()
  const set = (state: string): string => `update batches set status = '${state}'`
  for (const from of BATCH_STATES) {
    const allowed: string[] = []
    for (const to of BATCH_STATES.filter((state) => state !== from)) {
      if (await allows(fixture.db, 'batches', set(from), set(to))) allowed.push(to)
    }
    expect([from, allowed.toSorted()]).toEqual([from, BATCH_MOVES[from].toSorted()])
  }
})

test('a batch begins in the first state', async () => {
  await using fixture = await openFixture()
  const copy = `insert into batches (id, account_id, mode, product, status, explain, charge_unknown,
      auto_start, retention_days, requested, source_key, file_bytes, ats)
    select id || 'x', account_id, mode, product, 'ready', explain, charge_unknown, auto_start,
      retention_days, requested, source_key, file_bytes, ats from batches`
  await expect(fixture.db.pool.query(copy)).rejects.toThrow('illegal move in batches')
})

const COLUMNS: Readonly<Record<TaskState, string>> = {
  pending: 'lease_until = null, group_key = null',
  waiting: "lease_until = null, group_key = 'mx:a'",
  leased: "lease_until = now(), group_key = 'mx:a'",
}

const INSERT = `insert into tasks (batch_id, account_id, mode, check_kind, depth, chunk_no, size`

test('the database allows a task the moves in the table and no others', async () => {
  await using fixture = await openFixture()
  await fixture.db.pool.query(`${INSERT}) values ('${ID}', 'a', 'live', 'email', 'full', 0, 1)`)
  for (const from of TASK_STATES) {
    const allowed: string[] = []
    for (const to of TASK_STATES.filter((state) => state !== from)) {
      const force = `update tasks set ${COLUMNS[from]}`
      const change = `update tasks set lease = lease + 1, ${COLUMNS[to]}`
      if (await allows(fixture.db, 'tasks', force, change)) {
        allowed.push(to)
        const { rowCount } = await fixture.db.pool.query(
          `select from tasks t where ${isTask(to, 't')}`,
        )
        expect(rowCount).toBe(1)
      }
    }
    expect([from, allowed.toSorted()]).toEqual([from, TASK_MOVES[from].toSorted()])
  }
  expect(NEW_TASK_STATES).not.toContain('leased')
  await expect(
    fixture.db.pool.query(
      `${INSERT}, lease_until) values ('${ID}', 'a', 'live', 'email', 'full', 0, 1, now())`,
    ),
  ).rejects.toThrow('illegal move in tasks')
})

test('a lease has a higher number than the one before, and no number falls', async () => {
  await using fixture = await openFixture()
  await fixture.db.pool.query(`${INSERT}) values ('${ID}', 'a', 'live', 'email', 'full', 0, 1)`)
  const pending = `update tasks set lease = 3, ${COLUMNS.pending}`
  const allowed = (change: string): Promise<boolean> =>
    allows(fixture.db, 'tasks', pending, `update tasks set ${change}`)
  expect(await allowed('lease_until = now()')).toBe(false)
  expect(await allowed('lease = 4, lease_until = now()')).toBe(true)
  expect(await allowed('lease = 2')).toBe(false)
})

test('an ended batch is in no state of an unfinished one', () => {
  for (const state of ENDED_STATES) {
    expect(UNFINISHED_STATES).not.toContain(state)
    expect(BATCH_MOVES[state]).toEqual(['expired'])
  }
})

test('the check constraint of the column lists the states of the table', async () => {
  await using fixture = await openFixture()
  const { rows } = await fixture.db.pool.query<{ text: string }>(
    `select pg_get_constraintdef(oid) as text from pg_constraint where conname = 'batches_known_status'`,
  )
  expect(wordsIn(rows[0]?.text ?? '').toSorted()).toEqual(BATCH_STATES.toSorted())
  for (const [from, moves] of Object.entries(BATCH_MOVES)) {
    // An ended batch can only expire.
    if (moves.every((to) => to === 'expired')) expect(UNFINISHED_STATES).not.toContain(from)
    else expect(UNFINISHED_STATES).toContain(from)
  }
})

test('no statement names a state that the table does not have', () => {
  const sources = ['./', '../people/', '../../functions/'].flatMap((folder) =>
    filesOf(new URL(folder, import.meta.url)),
  )
  const named = sources.flatMap(({ name, text }) => {
    const met = text.matchAll(
      /\b(?:status|state) ?(?:=|<>|(?:not )?in) ?(\(['\w, ]+\)|'\w+')|ats->>('\w+')/g,
    )
    return [...met].flatMap((match) => wordsIn(match[0]).map((word) => ({ name, word })))
  })
  const words = named.map(({ word }) => word)
  expect(words).toContain('running')
  const names = named.map(({ name }) => name)
  expect(names).toEqual(expect.arrayContaining(['backlog.ts', 'free-mailboxes.ts', 'dispatch.sql']))
  // Accounts have states, too, and statements in all three folders name them.
  const known: readonly string[] = [...BATCH_STATES, ...ACCOUNT_STATES]
  expect(named.filter(({ word }) => !known.includes(word))).toEqual([])
})

function filesOf(folder: URL): readonly { readonly name: string; readonly text: string }[] {
  return readdirSync(folder)
    .filter((name) => /\.(?:ts|sql)$/.test(name) && !name.includes('.test.'))
    .map((name) => ({ name, text: readFileSync(new URL(name, folder), 'utf8') }))
}

function wordsIn(text: string): readonly string[] {
  return [...text.matchAll(/'(\w+)'/g)].map(([, word = '']) => word)
}
