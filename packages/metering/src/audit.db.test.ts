import { expect, test } from 'vitest'
import { openMeteringContext } from '../../../test/support/metering.ts'
import { auditLedger } from './audit.ts'

test.for<[what: string, damage: string, rules: readonly string[]]>([
  [
    'a balance that was written by hand',
    'update credit_accounts set packs = packs + 1',
    ['balance is the sum of its entries'],
  ],
  [
    'an entry that took more than there was',
    `insert into credit_entries (account_id, op_key, kind, allowance_delta, packs_delta, held_delta,
       period_no) select id, 'x', 'debit', 0, -51, 0, 0 from accounts`,
    ['balance is the sum of its entries', 'no balance was ever below zero'],
  ],
  [
    'a hold that lost credits',
    'update credit_holds set settled = settled + 1, allowance_left = allowance_left - 1',
    ['held is what open holds have left', 'a hold adds up to its entries'],
  ],
  [
    'a give-back without a debit',
    `insert into credit_entries (account_id, op_key, kind, allowance_delta, packs_delta, held_delta,
       period_no) select id, 'x', 'refund', 0, 0, 0, 0 from accounts`,
    ['no more is given back than was taken'],
  ],
  [
    'a cycle that was never granted',
    'update credit_accounts set period_no = 5',
    ['the cycle under way was granted'],
  ],
  [
    'a debit that waits though it is not in the ledger',
    "insert into credit_unanswered (account_id, op_key) select id, 'x' from accounts",
    ['a waiting debit is in the ledger'],
  ],
])('the audit finds %s', async ([, damage, rules]) => {
  await using context = await openMeteringContext()
  const id = await context.account()
  await context.metering.grantGoodwill(id, 50, 'gift')
  await context.db.kysely
    .transaction()
    .execute((tx) => context.metering.hold(tx, { accountId: id, ref: 'b', credits: 20 }))
  expect(await auditLedger(context.db)).toEqual([])
  await context.db.pool.query(damage)
  const faults = await auditLedger(context.db)
  expect(faults.map((fault) => fault.rule)).toEqual(rules)
  expect(faults.every((fault) => fault.accountId === id)).toBe(true)
})
