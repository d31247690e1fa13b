import { readPreferences } from '@plumbline/db/accounts'
import type { Db, Tx } from '@plumbline/db/database'
import { listMembers } from '@plumbline/db/people/members'
import type { MailMessage } from '@plumbline/mail/message'
import { queueMessage, type People } from '@plumbline/people/people'

/** The name of an account in messages: its own, else its address. */
export async function accountNameOf(db: Db | Tx, accountId: string): Promise<string> {
  const account = await readPreferences(db, accountId)
  return account?.name ?? account?.email ?? accountId
}

/** Queues a message to each owner of an account. */
export async function queueForOwners(
  people: People,
  tx: Tx,
  accountId: string,
  messageTo: (email: string) => MailMessage,
): Promise<void> {
  const members = await listMembers(tx, accountId)
  for (const { email } of members.filter(({ role }) => role === 'owner')) {
    await queueMessage(people, tx, messageTo(email))
  }
}
