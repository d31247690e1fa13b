import { openTestDatabase } from '@plumbline/testkit/database'
import { expect, test } from 'vitest'
import { createAccount } from './accounts.ts'
import { inTransaction } from './database.ts'
import {
  claimErasure,
  completeErasure,
  countRunningErasures,
  createErasure,
  ErasureLost,
  newErasureId,
  noteErasure,
  pageOfErasures,
  postponeErasure,
  renewErasure,
} from './erasures.ts'
import { rowsRead } from './rows-read-fixture.ts'

test('accounts have turns with their erasures, each with its oldest one, however many it has', async () => {
  await using db = await openTestDatabase()
  const accountOf = async (name: string): Promise<string> =>
    (await createAccount(db, { email: `${name}@example.com`, plan: 'pro' })).id
  const accounts = { busy: await accountOf('busy'), other: await accountOf('other') }
  const names = new Map<string, string>()
  const begin = async (account: keyof typeof accounts, name: string): Promise<void> => {
    const erasure = {
      id: newErasureId(),
      accountId: accounts[account],
      mode: 'live',
      valueCount: 1,
      includeAddresses: false,
      target: '',
      place: {},
    } as const
    names.set(erasure.id, name)
    await db.kysely.transaction().execute((tx) => createErasure(tx, erasure))
  }
  const claimed = async () => {
    const row = await claimErasure(db, 60_000)
    if (row === undefined) throw new Error('no erasure may be worked on')
    return row
  }
  const order: string[] = []
  /** An erasure has a turn, and is completed if it is one of these. */
  const turn = async (...short: readonly string[]): Promise<void> => {
    const row = await claimed()
    const name = names.get(row.id) ?? ''
    order.push(name)
    if (short.includes(name)) await completeErasure(db, row)
    else await postponeErasure(db, row, 0)
  }
  for (const name of ['busy 1', 'busy 2', 'busy 3']) await begin('busy', name)
  await begin('other', 'other 1')
  await turn()
  await turn()
  await turn('busy 1')
  await turn()
  // Neither a completed erasure nor a new one gives its account another turn.
  await begin('busy', 'busy 4')
  await turn('busy 2')
  await begin('busy', 'busy 5')
  await turn('other 1')
  expect(order).toEqual(['busy 1', 'other 1', 'busy 1', 'other 1', 'busy 2', 'other 1'])
  // If no other account has any, several processes work on those of one.
  const three = [await claimed(), await claimed(), await claimed()]
  expect(three.map(({ id }) => names.get(id))).toEqual(['busy 3', 'busy 4', 'busy 5'])
  expect(await claimErasure(db, 60_000)).toBeUndefined()
})

test('a worker that another one has taken an erasure over from changes nothing of it, nor one that a failover took a step from', async () => {
  await using db = await openTestDatabase()
  const { id: accountId } = await createAccount(db, { email: 'a@example.com', plan: 'pro' })
  const fields = { accountId, mode: 'live', valueCount: 1, includeAddresses: false } as const
  await inTransaction(db, (tx) =>
    createErasure(tx, { ...fields, id: newErasureId(), target: '', place: {} }),
  )
  const read = async () => (await db.pool.query('select * from erasures')).rows
  const late = await claimErasure(db, 0)
  const held = await claimErasure(db, 60_000)
  if (late === undefined || held === undefined) throw new Error('the erasure was not claimed')
  const before = await read()
  expect(await renewErasure(db, late, 90_000)).toBe(false)
  await postponeErasure(db, late, 90_000)
  for (const lost of [late, { ...held, saves: held.saves + 1 }]) {
    await expect(noteErasure(db, lost, {}, { rows: 1 })).rejects.toThrow(ErasureLost)
    await expect(completeErasure(db, lost)).rejects.toThrow(ErasureLost)
  }
  expect(await read()).toEqual(before)
  expect(await renewErasure(db, held, 90_000)).toBe(true)
  await noteErasure(db, held, {}, { rows: 1 })
  await completeErasure(db, { ...held, saves: held.saves + 1 })
})

test('neither a page, nor a limit, nor a turn reads all receipts of an account', async () => {
  await using db = await openTestDatabase()
  const { id: accountId } = await createAccount(db, { email: 'a@example.com', plan: 'pro' })
  await db.pool.query(
    `insert into erasures (id, account_id, mode, status, value_count, include_addresses, place, lease_until,
       created_at, completed_at)
     select 'ers_' || substr(md5(no::text), 1, 16), $1, 'live', 'completed', 1, false, '{}', now(),
       now() + no * interval '1 us', now()
     from generate_series(1, 20000) no`,
    [accountId],
  )
  await db.pool.query(
    `insert into erasures (id, account_id, mode, value_count, include_addresses, target, place, lease_until)
     select 'ers_' || substr(md5('running ' || no), 1, 16), $1, 'test', 1, false, '', '{}', now() - interval '1 s'
     from generate_series(1, 2) no`,
    [accountId],
  )
  await db.pool.query('analyze erasures')
  await inTransaction(db, async (tx) => {
    const inside = { ...db, kysely: tx }
    const before = await rowsRead(tx, 'erasures')
    const first = { limit: 20, after: undefined }
    expect(await pageOfErasures(inside, { accountId, mode: 'live' }, first)).toHaveLength(20)
    expect(await pageOfErasures(inside, { accountId, mode: 'test' }, first)).toHaveLength(2)
    expect(await countRunningErasures(tx, accountId)).toBe(2)
    expect(await claimErasure(inside, 60_000)).toMatchObject({ account_id: accountId })
    expect((await rowsRead(tx, 'erasures')) - before).toBeLessThan(100)
  })
})
