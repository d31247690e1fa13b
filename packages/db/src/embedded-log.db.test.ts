import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openDatabase } from './database.ts'
import { startEmbeddedPostgres } from './embedded.ts'

const MARK = 'marked-subject.example'

test('the log of the embedded server contains no value of a failed statement', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'plumbline-log-'))
  const postgres = await startEmbeddedPostgres({ dataDir })
  try {
    await using db = openDatabase({ url: postgres.url, poolSize: 1, applicationName: 'test' })
    const { pool } = db
    await pool.query('create table kept (name text primary key check (length(name) > 3))')
    const insert = 'insert into kept (name) values ($1)'
    await pool.query(insert, [MARK])
    await expect(pool.query(insert, [MARK])).rejects.toThrow(/duplicate key/)
    await expect(pool.query('select $1::bigint', [MARK.slice(0, 2)])).rejects.toThrow(/bigint/)
    const files = await readdir(dataDir, { recursive: true })
    const [log = ''] = files.filter((name) => name.endsWith('server.log'))
    const text = await readFile(join(dataDir, log), 'utf8')
    expect(text).toMatch(/duplicate key/)
    expect(text).not.toContain(MARK)
  } finally {
    await postgres.stop()
    await rm(dataDir, { recursive: true, force: true })
  }
})
