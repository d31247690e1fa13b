import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { lockDataDir } from './data-dir-lock.ts'

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'plumbline-local-'))
})
afterEach(() => rm(dir, { recursive: true, force: true }))

async function note(text: string): Promise<void> {
  await writeFile(join(dir, 'owner.json'), text)
}

async function noted(): Promise<unknown> {
  return JSON.parse(await readFile(join(dir, 'owner.json'), 'utf8')) as unknown
}

test('a directory has one owner at a time, and is free once the owner releases it', async () => {
  const owned = await lockDataDir(dir)
  await expect(lockDataDir(dir)).rejects.toThrow(
    `process ${process.pid} already runs the service on ${dir}; to run another beside it, set another DATA_DIR, PORT and ADMIN_PORT`,
  )
  expect(await noted()).toMatchObject({ pid: process.pid })
  await owned[Symbol.asyncDispose]()
  expect(await readdir(dir)).toEqual([])
  await using again = await lockDataDir(dir)
  expect(again).toBeDefined()
})

test('of many processes that start at once one owns the directory', async () => {
  const started = await Promise.allSettled(Array.from({ length: 20 }, () => lockDataDir(dir)))
  expect(started.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
})

test('of many that find the lock of a process that has ended one owns the directory', async () => {
  const { pid } = spawnSync(process.execPath, ['-v'])
  for (let round = 0; round < 20; round += 1) {
    await note(JSON.stringify({ pid, began: '1' }))
    const started = await Promise.allSettled(Array.from({ length: 8 }, () => lockDataDir(dir)))
    const owners = started.filter((each) => each.status === 'fulfilled')
    expect(owners).toHaveLength(1)
    for (const { value } of owners) await value[Symbol.asyncDispose]()
    expect(await readdir(dir)).toEqual([])
  }
})

test('a process that died while it replaced a lock keeps no other from starting', async () => {
  const left = JSON.stringify({ pid: spawnSync(process.execPath, ['-v']).pid, began: '1' })
  await note(left)
  await writeFile(join(dir, 'owner.json.replacing'), left)
  await using owned = await lockDataDir(dir)
  expect(owned).toBeDefined()
  expect(await readdir(dir)).toEqual(['owner.json'])
})

test('a living process keeps its directory, also where the system does not report start times', async () => {
  const other = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60_000)'])
  await once(other, 'spawn')
  try {
    await note(JSON.stringify({ pid: other.pid, began: null }))
    await expect(lockDataDir(dir)).rejects.toThrow(`process ${other.pid} already runs`)
    expect(await noted()).toMatchObject({ pid: other.pid })
  } finally {
    other.kill()
    await once(other, 'exit')
  }
})

test.each([
  [
    'of a process that has ended',
    () => ({ pid: spawnSync(process.execPath, ['-v']).pid, began: '1' }),
  ],
  ['whose pid another process has by now', () => ({ pid: process.ppid, began: 'long ago' })],
  ['whose pid is our own by now', () => ({ pid: process.pid, began: null })],
  ['that is broken', () => 'half a no'],
])('a lock file %s keeps no process from starting', async (_what, left) => {
  await note(JSON.stringify(left()))
  await using owned = await lockDataDir(dir)
  expect(owned).toBeDefined()
  expect(await noted()).toMatchObject({ pid: process.pid })
})
