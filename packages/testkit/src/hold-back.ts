import { randomInt } from 'node:crypto'
import pg from 'pg'
import { expect, vi } from 'vitest'
import { PATIENT } from './patience.ts'

/** A blocked change of a row, so that a test can act at exactly that point of another process. */
export interface HeldBack extends AsyncDisposable {
  /** Resolves when a process has reached the change. */
  reached(): Promise<void>
  /** Lets it proceed, now and from then on. */
  release(): Promise<void>
}

/**
 * The change to block: rows of `table` that are inserted, updated or deleted, if `when` holds for
 * `new` and `old`.
 */
export interface HeldChange {
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

/** Makes a change in a test's own database wait until it is released. */
export async function holdBack(databaseUrl: string, held: HeldChange): Promise<HeldBack> {
  const key = randomInt(2 ** 31)
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'test' })
  await client.connect()
  await client.query(`select pg_advisory_lock(${key})`)
  await client.query(`
    create function hold_back_${key}() returns trigger language plpgsql as $$
    begin
      perform pg_advisory_xact_lock_shared(${key});
      return coalesce(new, old);
    end $$`)
  await client.query(`
    create trigger hold_back_${key} before ${held.change} on ${held.table} for each row
    when (${held.when ?? 'true'}) execute function hold_back_${key}()`)
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
