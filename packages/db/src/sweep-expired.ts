import {
  WEBHOOK_KEPT_DAYS,
  WEBHOOK_KEPT_MAX,
  WEBHOOK_PENDING_MAX,
} from '@plumbline/contract/webhook-limits'
import type { Db } from './database.ts'
import { KEY_HOURS } from './idempotency.ts'
import { deleteSome, inSteps, updateSome } from './in-steps.ts'
import { FREE_MAILBOX_DAYS } from './people/free-mailboxes.ts'
import { SESSION_IDLE_DAYS } from './people/sessions.ts'

/** Maximum number of rows that one statement deletes. */
const MAX_ROWS = 10_000

/**
 * Deletes what has expired within minutes or hours, in bounded statements until nothing is left:
 * shared facts, idempotency keys, buckets that were full for an hour, leases, live replies older
 * than a minute, sessions, links. An idempotency key dated in the future is dated now, and a
 * delivery, mail, erasure or removal that is due later than any delay of its kind is due now: its
 * time was written before the clock was set back. Safe in several processes at once; the signal
 * stops it between two statements.
 */
export async function sweepExpired(db: Db, signal: AbortSignal): Promise<void> {
  await runAll(db, SOON, signal)
}

/**
 * As `sweepExpired`, for data that is stored for days, to be run less often: budgets of past days,
 * invitations, old webhook messages, records of mails and stray files. Messages
 * beyond those that may wait for an endpoint fail.
 */
export async function sweepLongStored(db: Db, signal: AbortSignal): Promise<void> {
  await runAll(db, FOR_DAYS, signal)
}

/**
 * As `sweepExpired`, for webhook messages that have ended, beyond the newest `kept` of an endpoint:
 * each batch that ends is a message for every endpoint of its account, free of charge. Reads as many
 * index entries of an endpoint as may be kept, so it is run rarely.
 */
export async function sweepSurplusMessages(
  db: Db,
  signal: AbortSignal,
  kept: number = WEBHOOK_KEPT_MAX,
): Promise<void> {
  const surplus = `delete from webhook_deliveries where ctid = any(array(
     select d.ctid from webhook_endpoints e, lateral (
       select created_at, id from webhook_deliveries where endpoint_id = e.id
       order by created_at desc, id desc offset ${kept} limit 1
     ) surplus, lateral (
       select ctid from webhook_deliveries
       where endpoint_id = e.id and status <> 'pending'
         and (created_at, id) <= (surplus.created_at, surplus.id)
       limit $1 for update skip locked
     ) d limit $1))`
  await runAll(db, [surplus], signal)
}

/**
 * As `sweepExpired`, for sessions that have ended since they were not used. Reads all sessions, as
 * an index of their last use would cost each use more than this, so it is run rarely. Their last use
 * may be noted a little late.
 */
export async function sweepIdleSessions(db: Db, signal: AbortSignal): Promise<void> {
  const isIdle = `used_at < now() - interval '${SESSION_IDLE_DAYS} days 1 hour'`
  await runAll(db, [deleteSome('sessions', isIdle)], signal)
}

/**
 * As `sweepExpired`, for the records of mailboxes whose account was closed long ago. Reads all of
 * them, and all closed accounts, so it is run rarely.
 */
export async function sweepFormerMailboxes(db: Db, signal: AbortSignal): Promise<void> {
  const former = `delete from free_mailboxes where ctid = any(array(
     select f.ctid from free_mailboxes f join accounts a on a.id = f.account_id
      where a.status = 'closed' and a.status_at <= now() - interval '${FREE_MAILBOX_DAYS} days'
      limit $1 for update of f skip locked))`
  await runAll(db, [former], signal)
}

async function runAll(db: Db, statements: readonly string[], signal: AbortSignal): Promise<void> {
  for (const statement of statements) await inSteps(db, statement, [], { signal, atOnce: MAX_ROWS })
}

/** Longer than any delay of a mail, erasure or removal of a file. */
const BEYOND = "interval '2 hours'"

/**
 * Longer than any delay of a delivery by the default schedule and by `Retry-After`: a day, and a
 * tenth of it at random. If `WEBHOOK_RETRY_SECONDS` has a longer one, its attempt is in the past.
 */
const BEYOND_DELIVERY = "interval '27 hours'"

const SOON = [
  deleteSome('memory_entries', 'expires_at <= now()'),
  deleteSome('durable_entries', 'expires_at <= now()'),
  deleteSome('idempotency_keys', 'expires_at <= now()'),
  // Claimed before the clock went back: its holder may be gone, and would block others until that
  // time.
  updateSome(
    'idempotency_keys',
    `claimed_at = least(claimed_at, now()), expires_at = now() + interval '${KEY_HOURS} hours'`,
    `expires_at > now() + interval '${KEY_HOURS} hours 1 minute'`,
  ),
  deleteSome('rate_buckets', 'full_at < (extract(epoch from now()) - 3600) * 1000000'),
  deleteSome('leases', 'expires_at <= now()'),
  deleteSome('live_replies', "sent_at < now() - interval '1 minute'"),
  deleteSome('sessions', 'ends_at <= now()'),
  deleteSome('link_codes', 'expires_at <= now()'),
  updateSome(
    'webhook_deliveries',
    'due_at = now()',
    `status = 'pending' and due_at > now() + ${BEYOND_DELIVERY}
       and coalesce(attempted_at, created_at) > now()`,
  ),
  updateSome('mails', 'next_at = now()', `next_at > now() + ${BEYOND}`),
  // Its holder, if alive, learns that its lease is lost, and another continues where it was.
  updateSome(
    'erasures',
    'lease_until = now()',
    `status = 'running' and lease_until > now() + ${BEYOND}`,
  ),
  updateSome('file_removals', 'next_at = now()', `next_at > now() + ${BEYOND}`),
]

const FOR_DAYS = [
  // Two more days, for refunds across midnight.
  deleteSome('budgets', "day < (now() at time zone 'utc')::date - 2"),
  deleteSome('invitations', 'expires_at <= now()'),
  deleteSome('mails_told', "told_at < now() - interval '90 days'"),
  deleteSome('webhook_deliveries', `created_at < now() - interval '${WEBHOOK_KEPT_DAYS} days'`),
  // Those that are due first have waited longest; under way and tried ones are due later. Of each
  // endpoint for which something waits one index entry is read, of others none.
  `update webhook_deliveries set status = 'failed',
     error = 'Too many messages waited for the endpoint; newer ones took the place of this one.'
   where ctid = any(array(
     with recursive waiting as (
       (select endpoint_id as id from webhook_deliveries
        where status = 'pending' order by endpoint_id limit 1)
       union all
       select next.* from waiting w, lateral (
         select endpoint_id from webhook_deliveries
         where status = 'pending' and endpoint_id > w.id order by endpoint_id limit 1) next
     )
     select d.ctid from waiting w, lateral (
       select due_at from webhook_deliveries where endpoint_id = w.id and status = 'pending'
       order by due_at desc offset ${WEBHOOK_PENDING_MAX} limit 1
     ) surplus, lateral (
       select ctid from webhook_deliveries
       where endpoint_id = w.id and status = 'pending' and due_at <= surplus.due_at
       limit $1 for update skip locked
     ) d limit $1))`,
  // Removed from the store by other means; a file that still exists is recorded again.
  deleteSome('stray_files', "seen_at < now() - interval '400 days'"),
]
