import { createAccount } from '@plumbline/db/accounts'
import { inTransaction, type Db } from '@plumbline/db/database'
import { addMember } from '@plumbline/db/people/members'
import { sweepAccountless } from '@plumbline/db/people/sweep-accountless'
import { findUser, insertUser, setOperator } from '@plumbline/db/people/users'
import { openTestDatabase } from '@plumbline/testkit/database'
import { expect, test } from 'vitest'
import { invite, removeFromAccount, transferOwnership } from './membership.ts'
import { plainPeople, VISITOR } from './people-fixture.ts'
import { signUp } from './sign-up.ts'

test('who has left every account is deleted a month later, and nobody else', async () => {
  await using db = await openTestDatabase(4)
  const people = plainPeople(db)
  const sweep = (): Promise<void> => sweepAccountless(db, new AbortController().signal)
  const { id: accountId } = await createAccount(db, { email: 'olga@company.example', plan: 'free' })
  const add = async (name: string, role: 'owner' | 'member' = 'member'): Promise<string> => {
    const email = `${name}@company.example`
    return await inTransaction(db, async (tx) => {
      const kept = { email, emailKey: email, passwordDigest: name, verified: true }
      const userId = (await insertUser(tx, { name, ...kept }))?.id ?? ''
      await addMember(tx, { accountId, userId, role })
      return userId
    })
  }
  const olga = { accountId, userId: await add('olga', 'owner') }
  const names = ['left', 'invited', 'operator', 'elsewhere']
  const ids = await Promise.all(names.map((name) => add(name)))
  const [, , operator = '', elsewhere = ''] = ids
  const other = await createAccount(db, { email: 'other@company.example', plan: 'free' })
  await inTransaction(db, async (tx) => {
    await setOperator(tx, operator, true)
    await addMember(tx, { accountId: other.id, userId: elsewhere, role: 'viewer' })
  })
  // Made an account, and handed it over before leaving it.
  const form = {
    name: 'maker',
    email: 'maker@company.example',
    password: 'tidal lantern cactus seven',
  }
  await signUp(people, VISITOR, form)
  const maker = (await findUser(db, form.email))?.id ?? ''
  const { rows } = await db.pool.query<{ account_id: string }>(
    'select account_id from members where user_id = $1',
    [maker],
  )
  const made = rows[0]?.account_id ?? ''
  await inTransaction(db, (tx) =>
    addMember(tx, { accountId: made, userId: olga.userId, role: 'member' }),
  )
  await transferOwnership(people, { accountId: made, userId: maker }, olga.userId)
  await removeFromAccount(people, { accountId: made, userId: olga.userId }, maker)

  await db.pool.query(`update users set created_at = now() - interval '31 days'`)
  for (const id of ids) await removeFromAccount(people, olga, id)
  await sweep()
  expect(await namesOf(db)).toEqual(['elsewhere', 'invited', 'left', 'maker', 'olga', 'operator'])

  await agePastMonth(db)
  await invite(people, VISITOR, olga, {
    email: 'invited@company.example',
    role: 'member',
    accountName: 'Company',
    inviterName: 'Olga',
  })
  await sweep()
  expect(await namesOf(db)).toEqual(['elsewhere', 'invited', 'maker', 'olga', 'operator'])
  await db.pool.query(`update accounts set status = 'closed' where id = $1`, [made])
  await sweep()
  expect(await namesOf(db)).toEqual(['elsewhere', 'invited', 'olga', 'operator'])
})

async function namesOf({ pool }: Db): Promise<readonly string[]> {
  const { rows } = await pool.query<{ name: string }>('select name from users order by name')
  return rows.map(({ name }) => name)
}

/** As if all acts of the audit log had been a month ago. */
async function agePastMonth({ pool }: Db): Promise<void> {
  await pool.query(`alter table audit_log disable trigger append_only;
    update audit_log set acted_at = acted_at - interval '31 days';
    alter table audit_log enable trigger append_only`)
}
