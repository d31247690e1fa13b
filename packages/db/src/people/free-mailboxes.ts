import { sql } from 'kysely'
import type { Tx } from '../database.ts'

/**
 * Days after an account is closed until its email address gets free credits again: the longest
 * billing cycle.
 */
export const FREE_MAILBOX_DAYS = 31

/**
 * Records that an email address has an account, and returns whether that account gets free credits
 * at once: not if the address had another account that is open or was closed in the last
 * `FREE_MAILBOX_DAYS`. The caller has inserted the user in the same transaction, so that two
 * sign-ups of one address run one after the other.
 *
 * @param digest an HMAC of the address
 */
export async function noteFreeMailbox(
  tx: Tx,
  digest: string,
  accountId: string,
): Promise<{ readonly hasCredits: boolean }> {
  const { rows } = await sql<{ had: boolean }>`
    with former as (
      select a.status, a.status_at from free_mailboxes f join accounts a on a.id = f.account_id
      where f.digest = ${digest}
    ), noted as (
      insert into free_mailboxes (digest, account_id) values (${digest}, ${accountId})
      on conflict (digest) do update set account_id = excluded.account_id
    )
    select exists (
      select from former
      where status <> 'closed' or status_at > now() - make_interval(days => ${FREE_MAILBOX_DAYS})
    ) as had`.execute(tx)
  return { hasCredits: rows[0]?.had === false }
}

/**
 * Whether an email address has made an account that is open, whoever owns it by now.
 *
 * @param digest as of `noteFreeMailbox`
 */
export async function hasOpenAccount(tx: Tx, digest: string): Promise<boolean> {
  const { rows } = await sql`
    select from free_mailboxes f join accounts a on a.id = f.account_id
    where f.digest = ${digest} and a.status <> 'closed'`.execute(tx)
  return rows.length > 0
}
