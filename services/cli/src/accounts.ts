import { getAccount, type Account } from '@plumbline/db/accounts'
import type { Db } from '@plumbline/db/database'
import { Refusal } from './refusal.ts'

/** The account of an id. @throws Refusal if there is none */
export async function requireAccount(db: Db, id: string): Promise<Account> {
  const account = await getAccount(db, id)
  if (account === undefined) {
    throw new Refusal(`There is no account ${id}; "account list" shows those there are.`)
  }
  return account
}
