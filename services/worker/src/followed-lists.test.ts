import { expect, onTestFinished, test, vi } from 'vitest'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadNames } from '@plumbline/datasets/load'
import { createLog } from '@plumbline/runtime/log'
import { followLists } from './followed-lists.ts'

const CHECK_MS = 30_000

test('a changed list is loaded; one that cannot be read is logged once, and the old one stays', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const dir = await mkdtemp(join(tmpdir(), 'lists-'))
  onTestFinished(() => rm(dir, { recursive: true }))
  const log = createLog({ name: 'test', level: 'silent' })
  const warned = vi.spyOn(log, 'warn')
  let loads = 0
  let isBroken = false
  const load = async (): Promise<ReadonlySet<string>> => {
    loads++
    if (isBroken) throw new Error('broken')
    return new Set((await loadNames(dir, 'opt-out')).entries())
  }
  using lists = await followLists(dir, load, log)
  expect([...lists.current()]).toEqual([])

  await writeFile(join(dir, 'opt-out.txt'), 'one.example\n')
  vi.advanceTimersByTime(CHECK_MS)
  await expect.poll(() => [...lists.current()]).toEqual(['one.example'])

  isBroken = true
  await writeFile(join(dir, 'opt-out.txt'), 'one.example\ntwo.example\n')
  vi.advanceTimersByTime(CHECK_MS)
  await expect.poll(() => warned.mock.calls.length).toBe(1)
  for (let round = 0; round < 3; round++) await vi.advanceTimersByTimeAsync(CHECK_MS)
  expect([...lists.current()]).toEqual(['one.example'])
  expect([loads, warned.mock.calls.length]).toEqual([3, 1])
})
