import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readSettings } from '@plumbline/runtime/settings'
import { expect, test } from 'vitest'
import { jobLockOf, listsDir, workerSettings, type JobLock } from './settings.ts'

const DATABASE_URL = 'postgres://localhost/x'

test('a debit without an answer is refunded within two minutes, whatever the settings are', () => {
  const read = (DEBIT_TIMEOUT_SECONDS: string, SWEEP_SECONDS: string) => () =>
    readSettings(workerSettings, { DATABASE_URL, DEBIT_TIMEOUT_SECONDS, SWEEP_SECONDS })
  expect(read('90', '30')).not.toThrow()
  expect(read('90', '31')).toThrow(/DEBIT_TIMEOUT_SECONDS: expected at most 120/)
})

test('a job that a dead worker had taken is taken by another within the time of a lease', () => {
  const lockOf = (LEASE_SECONDS?: string): JobLock =>
    jobLockOf(
      readSettings(workerSettings, { DATABASE_URL, ...(LEASE_SECONDS && { LEASE_SECONDS }) }),
    )
  expect(lockOf()).toEqual({ lockMs: 20_000, stalledMs: 10_000 })
  expect(lockOf('12')).toEqual({ lockMs: 8_000, stalledMs: 4_000 })
  expect(lockOf('2')).toEqual({ lockMs: 5_000, stalledMs: 2_500 })
})

test('the default folder of lists exists before their first update, where it can be created', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'lists-dir-'))
  try {
    const usual = await listsDir({ DATA_DIR: dir, LISTS_DIR: undefined })
    expect(usual).toBe(join(dir, 'lists'))
    expect(await readdir(dir)).toEqual(['lists'])
    await writeFile(join(dir, 'file'), '')
    expect(await listsDir({ DATA_DIR: join(dir, 'file'), LISTS_DIR: undefined })).toBeNull()
    expect(await listsDir({ DATA_DIR: dir, LISTS_DIR: '/told' })).toBe('/told')
  } finally {
    await rm(dir, { recursive: true })
  }
})

test.each([
  ['LIVE_CONCURRENCY', 'LIVE_SUBJECTS'],
  ['BULK_SLOTS', 'BULK_TASKS'],
  ['BULK_RESERVE', 'BULK_TASKS'],
])('the retired setting %s is refused with the name of %s', (name, successor) => {
  const read = () => readSettings(workerSettings, { DATABASE_URL, [name]: '32' })
  const message = new RegExp(`${name}: expected nothing.*use ${successor}.*\\(got "32"\\)`)
  expect(read).toThrow(message)
})
