import { jsonbText } from '@plumbline/db/jsonb'
import type { Db, DbSession } from '@plumbline/db/database'

/** A violated rule, as a sentence with the numbers found. */
export interface LedgerFault {
  readonly rule: string
  readonly accountId: string
  readonly detail: string
}

/** Violations found in a step: how many, and the first of them. */
export interface Faults {
  readonly count: number
  readonly examples: readonly LedgerFault[]
}

/** Maximum number of violations that are stored in detail; the others are only counted. */
export const MOST_EXAMPLES = 20

/** A claimed audit. `lease` is the fencing number that all its writes carry. */
export interface AuditRun {
  readonly id: number
  readonly lease: number
  readonly whole: boolean
  /** Number of the full audit that the sums began with. */
  readonly generation: number
  /** Entries up to this one are in the sums. */
  readonly auditedTo: number
}

/** Longer than any step, and than any wait for open transactions. */
const LEASE = "interval '15 minutes'"

const RUN = `id, lease, whole, coalesce(generation, id) as generation, audited_to as "auditedTo"`

/**
 * Takes over the open audit if its process is gone: its lease ran out, or ends later than any, since
 * the clock was set back.
 */
export async function takeOverAudit(db: Db): Promise<AuditRun | undefined> {
  const { rows } = await db.pool.query<AuditRun>(`
    update ledger_audits set lease = lease + 1, lease_until = clock_timestamp() + ${LEASE}
    where finished_at is null and (lease_until < clock_timestamp()
      or lease_until > clock_timestamp() + 2 * ${LEASE})
    returning ${RUN}`)
  return rows[0]
}

/** An audit that began in the future, before the clock was set back, does not count. */
const within = (age: string): string =>
  `started_at between clock_timestamp() - interval '${age}' and clock_timestamp() + interval '1 minute'`

/**
 * Begins an audit if none is open and one is due by database time: each day from the last audited
 * entry on; a full one each month, and after a partial one that found a wrong balance, since its
 * sums may be wrong. The number of an audit follows that of the last one read: if another process
 * began and ended one meanwhile, the number is taken, and none is begun.
 */
export async function beginAudit(db: Db): Promise<AuditRun | undefined> {
  const { rows } = await db.pool.query<AuditRun>(
    `with last as (
      select * from ledger_audits where finished_at is not null order by id desc limit 1
    ), due as (
      select not exists (select from ledger_audits where finished_at is not null and whole
          and ${within('1 month')})
          or exists (select from last where not whole and balance_faults > 0) as whole,
        not exists (select from last where ${within('1 day')})
          as any
    )
    insert into ledger_audits
      (id, whole, generation, audited_to, entry_faults, examples, lease_until)
    overriding system value
    select coalesce(l.id, 0) + 1, d.whole, case when not d.whole then coalesce(l.generation, l.id) end,
      case when d.whole then 0 else l.audited_to end,
      case when d.whole then 0 else l.entry_faults end,
      case when d.whole then '[]' else coalesce(
        (select jsonb_agg(e) from jsonb_array_elements(l.examples) e where e->>'of' = 'entries'), '[]')
        end,
      clock_timestamp() + ${LEASE}
    from due d left join last l on true
    where d.any
    on conflict do nothing
    returning ${RUN}`,
  )
  return rows[0]
}

/** Thrown if another process has the audit: results of this one may be wrong. */
export class AuditLost extends Error {}

/** @throws AuditLost if a write under the lease of an audit met no row */
function requireHeld({ rowCount }: { readonly rowCount: number | null }, { id }: AuditRun): void {
  if (rowCount !== 1) throw new AuditLost(`audit ${id} is in other hands`)
}

/**
 * Runs statements in one transaction in which no plan reads the whole ledger, however small it was
 * when its statistics were collected. After an error the session ends, and with it the transaction.
 */
export async function inLedgerTransaction<T>(
  db: Db,
  access: 'read only' | 'read write',
  work: (session: DbSession) => Promise<T>,
): Promise<T> {
  const session = await db.pool.connect()
  try {
    await session.query(`begin ${access}`)
    await session.query('set local enable_seqscan = off')
    const result = await work(session)
    await session.query('commit')
    session.release()
    return result
  } catch (error) {
    session.release(true)
    throw error
  }
}

/**
 * Stores that entries up to `to` are in the sums, as the first statement of the transaction that
 * adds them, so that no other process adds them too.
 *
 * @throws AuditLost
 */
export async function advanceAudit(
  session: DbSession,
  run: AuditRun,
  to: number,
): Promise<AuditRun> {
  const updated = await session.query(
    `update ledger_audits set audited_to = $4, lease_until = clock_timestamp() + ${LEASE}
    where id = $1 and lease = $2 and audited_to = $3 and finished_at is null`,
    [run.id, run.lease, run.auditedTo, to],
  )
  requireHeld(updated, run)
  return { ...run, auditedTo: to }
}

/** Renews the lease of a claimed audit. @throws AuditLost */
export async function renewAudit(db: Db, run: AuditRun): Promise<void> {
  const updated = await db.pool.query(
    `update ledger_audits set lease_until = clock_timestamp() + ${LEASE}
    where id = $1 and lease = $2 and finished_at is null`,
    [run.id, run.lease],
  )
  requireHeld(updated, run)
}

/** Adds the entries and faults of a step to those of the audit. */
export async function addEntries(
  session: DbSession,
  run: AuditRun,
  entryCount: number,
  faults: Faults,
): Promise<void> {
  await session.query(
    `update ledger_audits set entry_count = entry_count + $2, entry_faults = entry_faults + $3,
      examples = case when jsonb_array_length(examples) < ${MOST_EXAMPLES}
        then examples || $4::jsonb else examples end
    where id = $1`,
    [run.id, entryCount, faults.count, examplesText(faults, 'entries')],
  )
}

/**
 * Completes an audit with the results of checking the balances.
 *
 * @throws AuditLost
 */
export async function finishAudit(db: Db, run: AuditRun, faults: Faults): Promise<void> {
  const ended = await db.pool.query(
    `with ended as (
      update ledger_audits set balance_faults = $3, examples = examples || $4::jsonb,
        finished_at = clock_timestamp()
      where id = $1 and lease = $2 and finished_at is null
      returning id
    ), forgotten as (
      delete from ledger_audits where finished_at < clock_timestamp() - interval '400 days'
    ), accounts as (
      delete from ledger_account_sums where generation <> $5 and exists (select from ended)
    ), holds as (
      delete from ledger_hold_sums where generation <> $5 and exists (select from ended)
    )
    select id from ended`,
    [run.id, run.lease, faults.count, examplesText(faults, 'balances'), run.generation],
  )
  requireHeld(ended, run)
}

/** Releases an audit; the next process continues it. */
export async function releaseAudit(db: Db, run: AuditRun): Promise<void> {
  await db.pool.query(
    `update ledger_audits set lease_until = '-infinity'
    where id = $1 and lease = $2 and finished_at is null`,
    [run.id, run.lease],
  )
}

function examplesText({ examples }: Faults, of: 'entries' | 'balances'): string {
  return jsonbText(examples.map((fault) => ({ ...fault, of })))
}

/** Result of an audit, and its age by the database's clock. */
export interface AuditResult {
  readonly id: number
  readonly whole: boolean
  readonly ageSeconds: number
  /** Seconds since the last full audit ended; null before the first. */
  readonly wholeAgeSeconds: number | null
  /** Entries that this audit read. */
  readonly entryCount: number
  readonly faultCount: number
  /** The first violations. */
  readonly examples: readonly LedgerFault[]
}

/** The last completed audit; undefined before the first. */
export async function readLastAudit(db: Db): Promise<AuditResult | undefined> {
  const { rows } = await db.pool.query<AuditResult>(`
    select id, whole, entry_count as "entryCount",
      entry_faults + balance_faults as "faultCount", examples,
      extract(epoch from clock_timestamp() - finished_at)::float8 as "ageSeconds",
      (select extract(epoch from clock_timestamp() - max(w.finished_at))::float8
        from ledger_audits w where w.whole and w.finished_at is not null) as "wholeAgeSeconds"
    from ledger_audits where finished_at is not null
    order by id desc limit 1`)
  const [row] = rows
  if (row === undefined) return undefined
  const examples = row.examples.map(({ rule, accountId, detail }) => ({ rule, accountId, detail }))
  return { ...row, examples }
}
