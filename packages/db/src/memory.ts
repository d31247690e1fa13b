import { createBatcher } from '@plumbline/concurrency/batcher'
import type { Memory, MemoryEntry } from '@plumbline/ports/memory'
import { checkLifetime } from '@plumbline/ports/limiter'
import type { Json } from '@plumbline/contract/outcome'
import type { Db } from './database.ts'

/** Maximum number of keys in one statement. */
const MAX_KEYS = 1_000

/** Tables of facts: a crash of the server empties `memory_entries`, not `durable_entries`. */
type Table = 'memory_entries' | 'durable_entries'

/**
 * Shared facts in Postgres, by its own clock. Requests that wait at the same moment go in one
 * statement. `durable` facts survive a crash of the server: each write is on disk when the call
 * returns.
 */
export function createPostgresMemory(db: Db, { durable = false } = {}): Memory {
  const table: Table = durable ? 'durable_entries' : 'memory_entries'
  const bound = { maxItems: MAX_KEYS }
  const get = createBatcher((keys: readonly string[]) => read(db, table, keys), bound)
  const set = createBatcher((all: readonly MemoryEntry[]) => write(db, table, all), bound)
  const claim = createBatcher(
    (all: readonly MemoryEntry[]) => writeWhereAbsent(db, table, all),
    bound,
  )
  const remove = createBatcher((keys: readonly string[]) => erase(db, table, keys), bound)
  return {
    get: (keys) => Promise.all(keys.map(get)),
    async set(entries) {
      for (const { ttlMs } of entries) checkLifetime(ttlMs)
      await Promise.all(entries.map(set))
    },
    async claim(entry) {
      checkLifetime(entry.ttlMs)
      return claim(entry)
    },
    async delete(keys) {
      await Promise.all(keys.map(remove))
    },
  }
}

async function read(
  db: Db,
  table: Table,
  keys: readonly string[],
): Promise<readonly (Json | undefined)[]> {
  const { rows } = await db.pool.query<{ key: string; value: string }>({
    name: `${table}-get`,
    text: `select key, value from ${table} where key = any($1::text[]) and expires_at > now()`,
    values: [[...new Set(keys)]],
  })
  const values = new Map(rows.map(({ key, value }) => [key, value]))
  return keys.map((key) => {
    const value = values.get(key)
    return value === undefined ? undefined : parsed(value)
  })
}

/** Rows are written in the order of their keys, so that two statements cannot deadlock. */
async function write(
  db: Db,
  table: Table,
  entries: readonly MemoryEntry[],
): Promise<readonly undefined[]> {
  await db.pool.query({
    name: `${table}-set`,
    text: `insert into ${table} (key, value, expires_at)
           select key, value, now() + ttl_ms * interval '1 millisecond'
             from unnest($1::text[], $2::text[], $3::float8[]) as t (key, value, ttl_ms)
            order by key
           on conflict (key) do update set value = excluded.value, expires_at = excluded.expires_at`,
    values: columnsOf(new Map(entries.map((entry) => [entry.key, entry]))),
  })
  return entries.map(() => undefined)
}

async function writeWhereAbsent(
  db: Db,
  table: Table,
  entries: readonly MemoryEntry[],
): Promise<readonly boolean[]> {
  const firsts = new Map<string, MemoryEntry>()
  for (const entry of entries) if (!firsts.has(entry.key)) firsts.set(entry.key, entry)
  const { rows } = await db.pool.query<{ key: string }>({
    name: `${table}-claim`,
    text: `insert into ${table} as held (key, value, expires_at)
           select key, value, now() + ttl_ms * interval '1 millisecond'
             from unnest($1::text[], $2::text[], $3::float8[]) as t (key, value, ttl_ms)
            order by key
           on conflict (key) do update set value = excluded.value, expires_at = excluded.expires_at
            where held.expires_at <= now()
           returning key`,
    values: columnsOf(firsts),
  })
  const stored = new Set(rows.map(({ key }) => key))
  return entries.map((entry) => stored.has(entry.key) && firsts.get(entry.key) === entry)
}

async function erase(db: Db, table: Table, keys: readonly string[]): Promise<readonly undefined[]> {
  await db.pool.query({
    name: `${table}-delete`,
    text: `delete from ${table} where key in
             (select key from ${table} where key = any($1::text[]) order by key for update)`,
    values: [[...new Set(keys)]],
  })
  return keys.map(() => undefined)
}

function columnsOf(entries: ReadonlyMap<string, MemoryEntry>): unknown[] {
  const all = [...entries.values()]
  return [
    all.map(({ key }) => key),
    all.map(({ value }) => JSON.stringify(value)),
    all.map(({ ttlMs }) => ttlMs),
  ]
}

/** Safe because only `write` and `writeWhereAbsent` fill the column, both with JSON. */
function parsed(text: string): Json {
  return JSON.parse(text) as Json
}
