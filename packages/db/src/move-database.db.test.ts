import { createTestDatabase } from '@plumbline/testkit/postgres'
import { expect, test } from 'vitest'
import { createAccount } from './accounts.ts'
import { openDatabase, type Db } from './database.ts'
import { createKey } from './keys.ts'
import { moveDatabase } from './move-database.ts'

interface Stage extends AsyncDisposable {
  readonly source: Db
  readonly target: Db
}

/** Two databases of one server; the first has an account with a key. */
async function openStage(): Promise<Stage> {
  await using stack = new AsyncDisposableStack()
  const open = async (): Promise<Db> => {
    const { url } = stack.use(await createTestDatabase())
    return stack.use(openDatabase({ url, poolSize: 2, applicationName: 'test' }))
  }
  const source = await open()
  const target = await open()
  const { id } = await createAccount(source, { email: 'móvil@example.com', plan: 'pro' })
  await createKey(source, { accountId: id, mode: 'live', service: 'svc' })
  const owned = stack.move()
  return { source, target, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

test('a database is moved with its sequences, and a repeat reports the same', async () => {
  await using stage = await openStage()
  const { source, target } = stage
  const moved = await moveDatabase(source, target)
  expect(moved).toContainEqual({ name: 'accounts', rowCount: 1 })
  expect(moved).toContainEqual({ name: 'api_keys', rowCount: 1 })
  expect(moved.map(({ name }) => name)).not.toContain('migrations')
  expect(await rowsOf(target, 'select * from credit_entries order by id')).toEqual(
    await rowsOf(source, 'select * from credit_entries order by id'),
  )
  expect(await moveDatabase(source, target)).toEqual(moved)
  expect(await rowsOf(target, SEQUENCES)).toEqual(await rowsOf(source, SEQUENCES))
  await createAccount(target, { email: 'next@example.com', plan: 'free' })
  await expect(moveDatabase(source, target)).rejects.toThrow('the target is not empty')
})

test('an incomplete copy is rolled back, and all constraints stay as they were', async () => {
  await using stage = await openStage()
  const { source, target } = stage
  await target.pool.query(`alter table credit_entries add constraint none check (false)`)
  const before = await rowsOf(target, RULES)
  await expect(moveDatabase(source, target)).rejects.toThrow('table credit_entries could not be')
  expect(await rowsOf(target, 'select * from accounts')).toEqual([])
  expect(await rowsOf(target, RULES)).toEqual(before)
  await target.pool.query(`alter table credit_entries drop constraint none`)
  await moveDatabase(source, target)
  expect(await rowsOf(target, RULES)).toEqual(await rowsOf(source, RULES))
})

/** Values of the sequences, without their internal positions. */
const SEQUENCES = `
  select sequencename, last_value from pg_sequences where schemaname = 'public' order by 1`

/** Constraints of tables, and triggers with whether they are enabled. */
const RULES = `
  select conrelid::regclass::text as of, conname as name, pg_get_constraintdef(oid) as rule
  from pg_constraint where connamespace = 'public'::regnamespace
  union all
  select tgrelid::regclass::text, case when tgisinternal then '' else tgname end, tgenabled::text
  from pg_trigger order by 1, 2, 3`

async function rowsOf(db: Db, statement: string): Promise<readonly unknown[]> {
  return (await db.pool.query<Record<string, unknown>>(statement)).rows
}
