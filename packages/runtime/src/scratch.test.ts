import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ownIdentity, type ProcessIdentity } from './process-identity.ts'
import { openScratch, type Scratch } from './scratch.ts'

let dataDir: string
let root: string
const faults: unknown[] = []
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'plumbline-scratch-'))
  root = join(dataDir, 'scratch')
  await mkdir(root)
  faults.length = 0
})
afterEach(() => rm(dataDir, { recursive: true, force: true }))

const TIMES = { beatMs: 20, silentMs: 60_000, sweepMs: 20 }

async function open(times = TIMES): Promise<Scratch> {
  return await openScratch(dataDir, (error) => faults.push(error), times)
}

/** A folder as a process leaves it, with one file. */
async function leave(no: number, owner: Partial<ProcessIdentity> | string | null): Promise<string> {
  const name = `process-00000000-0000-4000-8000-${String(no).padStart(12, '0')}`
  const note =
    typeof owner === 'string' ? owner : JSON.stringify({ ...(await ownIdentity()), ...owner })
  if (owner !== null) await writeFile(join(root, `${name}.owner`), note)
  await mkdir(join(root, name))
  await writeFile(join(root, name, 'upload-x'), 'x')
  return name
}

const folders = async (): Promise<readonly string[]> =>
  (await readdir(root)).filter((name) => !name.endsWith('.owner')).toSorted()

test('a folder is its process’s alone, and goes with it', async () => {
  const scratch = await open()
  await writeFile(join(scratch.dir, 'upload-a'), 'x')
  expect((await stat(scratch.dir)).mode & 0o777).toBe(0o700)
  await scratch[Symbol.asyncDispose]()
  expect(await readdir(root)).toEqual([])
  expect(faults).toEqual([])
})

test('what a killed process left goes at the next start, however young it is', async () => {
  const began = 'long ago'
  await leave(1, { pid: spawnSync(process.execPath, ['-v']).pid })
  await leave(2, { pid: process.ppid, began })
  await leave(3, { began: null })
  await leave(4, null)
  await writeFile(join(root, 'records-x.json'), 'x')
  await writeFile(join(root, 'notes'), 'x')
  await using scratch = await open()
  expect(await folders()).toEqual(['notes', basename(scratch.dir)])
  expect(faults).toEqual([])
})

test('what a living process owns stays, whichever it is and however old it is', async () => {
  await using mine = await open()
  const other = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60_000)'])
  await once(other, 'spawn')
  try {
    const name = await leave(1, { pid: Number(other.pid), began: null })
    await writeFile(join(mine.dir, 'upload-a'), 'x')
    const old = new Date(Date.now() - 7 * 3_600_000)
    await utimes(join(root, `${name}.owner`), old, old)
    await using next = await open()
    expect(await folders()).toEqual([name, basename(mine.dir), basename(next.dir)].toSorted())
    expect(await readdir(mine.dir)).toEqual(['upload-a'])
  } finally {
    other.kill()
    await once(other, 'exit')
  }
})

test('a process of another container is taken for gone once it has been silent, and not before', async () => {
  const place = 'another machine'
  const lively = await leave(1, { place })
  const silent = await leave(2, { place })
  const half = await leave(3, '{"pid":')
  const old = new Date(Date.now() - 2 * TIMES.silentMs)
  await utimes(join(root, `${silent}.owner`), old, old)
  await using scratch = await open()
  expect(await folders()).toEqual([lively, half, basename(scratch.dir)].toSorted())
  await utimes(join(root, `${lively}.owner`), old, old)
  await expect.poll(folders).toEqual([half, basename(scratch.dir)].toSorted())
})

test('a process says again and again that it lives, and has its folder back where it was taken for gone', async () => {
  await using scratch = await open()
  const note = `${scratch.dir}.owner`
  const old = new Date(0)
  await utimes(note, old, old)
  await expect.poll(async () => (await stat(note)).mtimeMs).toBeGreaterThan(Date.now() - 60_000)
  expect(JSON.parse(await readFile(note, 'utf8'))).toEqual(await ownIdentity())
  await rm(note)
  await rm(scratch.dir, { recursive: true })
  await expect.poll(() => readdir(root)).toEqual([basename(scratch.dir), basename(note)])
})

test.runIf(process.getuid?.() !== 0)('what cannot be removed keeps nothing else', async () => {
  const locked = await leave(1, { began: 'long ago' })
  await leave(2, { began: 'long ago' })
  await chmod(join(root, locked), 0o500)
  await using scratch = await open({ ...TIMES, sweepMs: 60_000 })
  expect(await folders()).toEqual([locked, basename(scratch.dir)])
  expect(faults).toHaveLength(1)
  await chmod(join(root, locked), 0o700)
})
