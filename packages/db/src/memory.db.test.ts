import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { openDatabase } from './database.ts'
import { startEmbeddedPostgres } from './embedded.ts'
import { createPostgresMemory } from './memory.ts'
import { migrate } from './migrate.ts'
import { PATIENT } from '@plumbline/testkit/patience'

test('a durable claim survives a crash of the server; other entries are lost', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'plumbline-memory-'))
  const postgres = await startEmbeddedPostgres({ dataDir })
  try {
    await using db = openDatabase({
      url: postgres.url,
      poolSize: 1,
      applicationName: 'test',
      onIdleError: () => undefined,
    })
    await migrate(db)
    const durable = createPostgresMemory(db, { durable: true })
    const plain = createPostgresMemory(db)
    const entry = { key: 'begun', value: { at: 1 }, ttlMs: 3_600_000 }
    expect(await Promise.all([durable.claim(entry), plain.claim(entry)])).toEqual([true, true])
    const { rows } = await db.pool.query<{ pid: number }>('select pg_backend_pid() as pid')
    // When one session dies, the server ends all others and recovers from its log.
    process.kill(rows[0]?.pid ?? 0, 'SIGKILL')
    await vi.waitFor(async () => expect(await plain.get(['begun'])).toEqual([undefined]), PATIENT)
    expect(await durable.claim(entry)).toBe(false)
    expect(await durable.get(['begun'])).toEqual([{ at: 1 }])
  } finally {
    await postgres.stop()
    await rm(dataDir, { recursive: true, force: true })
  }
})
