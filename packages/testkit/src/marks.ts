import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { zstdDecompressSync } from 'node:zlib'
import type { Db } from '@plumbline/db/database'
import type { Redis } from 'ioredis'
import { entriesBelow } from './entries-below.ts'

/** An occurrence of a mark: a value that must not be stored or logged. */
export interface Occurrence {
  readonly place: string
  readonly mark: string
  /** The surrounding text. */
  readonly text: string
}

/** Finds marks in a text: plain, in base64, in hexadecimal, and as unsalted hashes. */
export type Finder = (place: string, text: string) => readonly Occurrence[]

/**
 * Makes a finder of the words `plain`, in upper or lower case, and of unsalted hashes of the subjects
 * `whole`.
 */
export function findMarks(plain: readonly string[], whole: readonly string[]): Finder {
  const needles = plain.flatMap((mark) => [
    { mark, word: mark.toLowerCase(), folds: true },
    { mark, word: Buffer.from(mark).toString('hex'), folds: true },
    ...base64Of(mark).map((word) => ({ mark, word, folds: false })),
  ])
  const hashes = whole.flatMap((mark) =>
    (['hex', 'base64', 'base64url'] as const).map((form) => {
      return { mark, word: hash('sha256', mark, form), folds: false }
    }),
  )
  return (place, text) => {
    const folded = text.toLowerCase()
    return [...needles, ...hashes].flatMap(({ mark, word, folds }) => {
      const at = (folds ? folded : text).indexOf(word)
      return at < 0 ? [] : [{ place, mark, text: text.slice(Math.max(0, at - 120), at + 120) }]
    })
  }
}

/** A word in base64 at each of the three possible alignments, without characters that adjacent bytes determine. */
function base64Of(word: string): readonly string[] {
  return [0, 1, 2].flatMap((shift) => {
    const bytes = Buffer.concat([Buffer.alloc(shift), Buffer.from(word)])
    const text = bytes.toString('base64').replace(/=+$/, '')
    const whole = Math.floor((bytes.length * 8) / 6)
    return [text.slice(Math.ceil((shift * 8) / 6), whole)]
  })
}

/** Every row of every table of the database, except of the tables named, as text. */
export async function readTables(
  db: Db,
  except: readonly string[] = [],
): Promise<readonly { readonly place: string; readonly text: string }[]> {
  const { rows: tables } = await db.pool.query<{ name: string; plain: string }>(
    `select format('%I.%I', schemaname, tablename) as name, tablename as plain from pg_tables
      where schemaname not in ('pg_catalog', 'information_schema')`,
  )
  const wanted = tables.filter(({ plain }) => !except.includes(plain))
  const texts = await Promise.all(
    wanted.map(async ({ name }) => {
      const { rows } = await db.pool.query<{ text: string }>(
        `select string_agg(t::text, chr(10)) as text from ${name} t`,
      )
      return { place: name, text: rows[0]?.text ?? '' }
    }),
  )
  return texts
}

/** Every key of a Redis server with its content. */
export async function readRedis(
  redis: Redis,
): Promise<readonly { readonly place: string; readonly text: string }[]> {
  const names = await redis.keys('*')
  const texts = await Promise.all(
    names.map(async (name) => ({
      place: `redis ${name}`,
      text: `${name} ${await held(redis, name)}`,
    })),
  )
  return texts
}

async function held(redis: Redis, name: string): Promise<string> {
  switch (await redis.type(name)) {
    case 'string':
      return (await redis.get(name)) ?? ''
    case 'hash':
      return JSON.stringify(await redis.hgetall(name))
    case 'list':
      return JSON.stringify(await redis.lrange(name, 0, -1))
    case 'set':
      return JSON.stringify(await redis.smembers(name))
    case 'zset':
      return JSON.stringify(await redis.zrange(name, 0, '-1'))
    case 'stream':
      return JSON.stringify(await redis.xrange(name, '-', '+'))
    default:
      return ''
  }
}

/** Every file and folder below a folder with its name and content, while programs add and remove some. */
export async function readFolder(
  folder: string,
): Promise<readonly { readonly place: string; readonly name: string; readonly text: string }[]> {
  return await Promise.all(
    (await entriesBelow(folder)).map(async (entry) => {
      const path = join(entry.parentPath, entry.name)
      const text = entry.isFile() ? await readFile(path, 'latin1').catch(() => '') : ''
      return { place: path, name: path.slice(folder.length), text }
    }),
  )
}

/** The decompressed content of chunks and of their outcomes. */
export async function readPacked(
  db: Db,
): Promise<readonly { readonly place: string; readonly text: string }[]> {
  const { rows } = await db.pool.query<{ place: string; bytes: Buffer }>(
    `select 'cells of ' || batch_id as place, cells as bytes from chunks
     union all select 'subjects of ' || batch_id, subjects from chunks
     union all select 'outcomes of ' || batch_id, outcomes from parts`,
  )
  return rows.map(({ place, bytes }) => ({ place, text: zstdDecompressSync(bytes).toString() }))
}
