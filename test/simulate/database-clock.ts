import { openDatabase, type Db } from '@plumbline/db/database'

/** The clock of a simulated database. */
export interface DatabaseClock extends AsyncDisposable {
  /** Sets the clock to a virtual time, plus the sum of its steps. */
  set(virtualMs: number): Promise<void>
  /** What the clock shows at a virtual time, in milliseconds since the Unix epoch. */
  momentOf(virtualMs: number): number
  /** Moves the clock forward or back, from its next `set`. */
  step(byMs: number): void
}

/** Most chunks whose tasks one transaction may change: more locks would block other transactions for too long. */
export const CHANGED_CHUNKS_MAX = 260

/**
 * Adds to the template database, as its owner: functions `now` and `clock_timestamp` that take
 * precedence over those of Postgres, and triggers that count the changes of each transaction.
 */
export async function prepareTemplate(url: string): Promise<void> {
  await using db = openDatabase({ url, poolSize: 1, applicationName: 'simulate' })
  await db.pool.query(CLOCK)
  const { rows } = await db.pool.query<{ statement: string }>(DEFAULTS)
  for (const { statement } of rows) await db.pool.query(statement)
  await db.pool.query(COUNTERS)
}

/** The statement that makes new sessions of a database use the simulated clock. */
export function useSimulatedClock(database: string): string {
  return `alter database ${database} set search_path = simulation, pg_catalog, public`
}

const CLOCK = `
  create schema simulation;
  create table simulation.clock (moment timestamptz not null, read_at timestamptz not null);
  insert into simulation.clock values (pg_catalog.now(), pg_catalog.now());
  create function simulation.clock_timestamp() returns timestamptz language sql volatile as $$
    select moment + least(interval '1 ms', pg_catalog.clock_timestamp() - read_at)
    from simulation.clock $$;
  create function simulation.now() returns timestamptz language sql stable as $$
    select moment from simulation.clock $$;
  grant usage on schema simulation to public;
  grant select on simulation.clock to public`

/** Column defaults keep the function that they were created with. */
const DEFAULTS = `
  select format('alter table %s alter column %I set default %s', d.adrelid::regclass, a.attname,
    replace(regexp_replace(pg_get_expr(d.adbin, d.adrelid), '(now|clock_timestamp)\\(\\)',
      'simulation.\\1()', 'g'), 'CURRENT_TIMESTAMP', 'simulation.now()')) as statement
  from pg_attrdef d
    join pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum
    join pg_class c on c.oid = d.adrelid
    join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'public'
  where pg_get_expr(d.adbin, d.adrelid) ~ 'now\\(\\)|clock_timestamp\\(\\)|CURRENT_TIMESTAMP'`

const COUNTERS = `
  create table simulation.changes (txid bigint not null, what text not null, count bigint not null);
  create function simulation.count_changes() returns trigger language plpgsql security definer as $$
  begin
    insert into simulation.changes
    select pg_catalog.txid_current(), tg_op, pg_catalog.count(distinct (batch_id, chunk_no))
    from changed;
    return null;
  end $$;
  create trigger counted_insert after insert on public.tasks referencing new table as changed
    for each statement execute function simulation.count_changes();
  create trigger counted_update after update on public.tasks referencing new table as changed
    for each statement execute function simulation.count_changes();
  create trigger counted_delete after delete on public.tasks referencing old table as changed
    for each statement execute function simulation.count_changes()`

/** Opens the clock of a database made from the template; it shows the present at virtual time `beganMs`. */
export function openDatabaseClock(url: string, beganMs: number): DatabaseClock {
  const db = openDatabase({ url, poolSize: 1, applicationName: 'simulation clock' })
  const began = Date.now() - beganMs
  let steppedMs = 0
  const momentOf = (virtualMs: number): number => began + virtualMs + steppedMs
  return {
    momentOf,
    set: async (virtualMs) => {
      await db.pool.query({
        name: 'simulation.set',
        text: `update simulation.clock set moment = pg_catalog.to_timestamp($1::float8),
          read_at = pg_catalog.clock_timestamp()`,
        values: [momentOf(virtualMs) / 1_000],
      })
    },
    step: (byMs) => {
      steppedMs += byMs
    },
    [Symbol.asyncDispose]: () => db[Symbol.asyncDispose](),
  }
}

/** The kinds of change (insert, update, delete) and the number of chunks of the largest transaction on tasks. */
export async function largestChange(db: Db): Promise<{ what: string; count: number }> {
  const { rows } = await db.pool.query<{ what: string; count: number }>(`
    select string_agg(distinct what, ', ') as what, sum(count)::int as count
    from simulation.changes group by txid order by 2 desc limit 1`)
  return rows[0] ?? { what: 'nothing', count: 0 }
}
