import { expect, test } from 'vitest'
import { isTemporary } from '../retry.ts'
import { lockHeldChunk, writeBlanked, type HeldTask } from './blank.ts'
import { add, openTwoAccounts } from './tasks-fixture.ts'

test('states of a task that took in another one meanwhile are not overwritten by those without an erased value', async () => {
  await using place = await openTwoAccounts()
  const { db } = place
  await db.pool.query(`
    insert into chunks (batch_id, no, first_row, row_count, billable_count, email_count,
      phone_count, ip_count, domain_count, remaining, subjects, cells)
    values ('bat_a', 0, 0, 2, 2, 2, 0, 0, 0, 2, '', '')`)
  const [first, second] = [await add(db, { group: 'mx:1' }), await add(db, { group: 'mx:2' })]
  const store = async (task: number, indexes: number[], states: string): Promise<void> => {
    await db.pool.query(
      'update tasks set indexes = $2, size = cardinality($2::int[]), states = $3 where id = $1',
      [task, indexes, states],
    )
  }
  await store(first, [0], '["ada@gone.example"]')
  await store(second, [1], '["tried"]')
  /** Blanks the first state; `meanwhile` runs once the tasks were read. */
  const blank = async (meanwhile: () => Promise<void>): Promise<void> => {
    await db.kysely.transaction().execute(async (tx) => {
      const held = await lockHeldChunk(tx, 'bat_a', 0)
      await meanwhile()
      const without = ({ id, version, states }: HeldTask) => ({
        id,
        version,

        states: [null, ...(states?.slice(1) ?? [])],
      })
      const tasks = (held?.tasks ?? []).filter(({ id }) => id === first).map(without)
      await writeBlanked(tx, 'bat_a', 0, { parts: [], tasks })
    })
  }
  const states = async (): Promise<unknown> =>
    (await db.pool.query('select id, states from tasks order by id')).rows
  // As a round of the dispatcher does with due tasks of a chunk, without a lock of that.
  const merged = blank(async () => {
    await store(first, [0, 1], '["ada@gone.example", "tried"]')
    await db.pool.query('delete from tasks where id = $1', [second])
  })
  expect(isTemporary(await merged.catch((error: unknown) => error))).toBe(true)
  expect(await states()).toEqual([{ id: first, states: ['ada@gone.example', 'tried'] }])
  await blank(async () => undefined)
  expect(await states()).toEqual([{ id: first, states: [null, 'tried'] }])
})
