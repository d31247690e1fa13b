import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '@plumbline/db/database'
import { readDoctorReport } from '@plumbline/db/doctor-report'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { expect, test } from 'vitest'
import { runCli } from '../program.ts'

test('a doctor who is interrupted reports nothing', async () => {
  await using database = await createTestDatabase()
  await using db = openDatabase({ url: database.url, poolSize: 2, applicationName: 'test' })
  const dataDir = await mkdtemp(join(tmpdir(), 'plumbline-doctor-'))
  try {
    const said: string[] = []
    const status = await runCli(['doctor'], {
      environment: {
        DATA_DIR: dataDir,
        DATABASE_URL: database.url,
        DNS_SERVERS: '127.0.0.1:9',
        SMTP_PROBING: 'false',
      },
      write: (text) => void said.push(text),
      tell: () => undefined,
      redraws: false,
      hasColors: false,
      stop: AbortSignal.abort(),
      fail: () => said.push('failed'),
    })
    expect([status, said]).toEqual([130, []])
    expect(await readDoctorReport(db)).toBeUndefined()
  } finally {
    await rm(dataDir, { recursive: true })
  }
})
