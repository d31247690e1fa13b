import { randomInt } from 'node:crypto'
import pg from 'pg'
import { expect, vi } from 'vitest'
import { PATIENT } from './patience.ts'

/** A blocked change of a row, so that a test can act while another process waits at that point. */
export interface BlockedChange extends AsyncDisposable {
  /** Resolves when a process has reached the change. */
  reached(): Promise<void>
  /** Unblocks this change and all later ones. */
  release(): Promise<void>
}

/** A change of rows of a table; `when` is an SQL condition on `new` and `old`, default true. */
export interface RowChange {
  readonly table:
    | 'batches'
    | 'chunks'
    | 'tasks'
    | 'erasures'
    | 'file_removals'
    | 'idempotency_keys'
    | 'webhook_deliveries'
  readonly change: 'insert' | 'update' | 'delete'
  readonly when?: string
}

/** Blocks a change in a test's own database until `release`. */
export async function blockChange(databaseUrl: string, change: RowChange): Promise<BlockedChange> {
  const key = randomInt(2 ** 31)
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'test' })
  await client.connect()
  await client.query(`select pg_advisory_lock(${key})`)
  await client.query(`
    create function block_change_${key}() returns trigger language plpgsql as $$
    begin
      perform pg_advisory_xact_lock_shared(${key});
      return coalesce(new, old);
    end $$`)
  await client.query(`
    create trigger block_change_${key} before ${change.change} on ${change.table} for each row
    when (${change.when ?? 'true'}) execute function block_change_${key}()`)
  return {
    async reached() {
      await vi.waitFor(async () => {
        const { rows } = await client.query(
          `select from pg_locks where locktype = 'advisory' and objid = ${key} and not granted`,
        )
        expect(rows.length).toBeGreaterThan(0)
      }, PATIENT)
    },
    async release() {
      await client.query(`select pg_advisory_unlock(${key})`)
    },
    [Symbol.asyncDispose]: () => client.end(),
  }
}
