import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ProcessIdentity } from './process-identity.ts'
import { folderOf, openScratch, type Scratch } from './scratch.ts'

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

const TIMES = { heartbeatMs: 20, silentMs: 60_000, sweepMs: 20 }
/** Times so long that only the start removes folders. */
const SLOW = { heartbeatMs: 60_000, silentMs: 60_000, sweepMs: 60_000 }
const LATELY = Date.now() - TIMES.silentMs
const OLD = new Date(Date.now() - 7 * 3_600_000)

async function open(times = TIMES): Promise<Scratch> {
  return await openScratch(dataDir, (error) => faults.push(error), times)
}

/** A folder with one file, as a process leaves it; in the scope of this machine by default. */
async function leave(scratch: Scratch, owner: Partial<ProcessIdentity>): Promise<string> {
  const [whose = ''] = basename(scratch.dir).slice('process-'.length).split('.')
  const own = JSON.parse(Buffer.from(whose, 'base64url').toString()) as ProcessIdentity
  const name = folderOf({ ...own, ...owner })
  await mkdir(join(root, name))
  await writeFile(join(root, name, 'upload-x'), 'x')
  return name
}

const folders = async (): Promise<readonly string[]> => (await readdir(root)).toSorted()

test('each process has its own folder, removed with it', async () => {
  const scratch = await open()
  await writeFile(join(scratch.dir, 'upload-a'), 'x')
  expect((await stat(scratch.dir)).mode & 0o777).toBe(0o700)
  await scratch[Symbol.asyncDispose]()
  expect(await readdir(root)).toEqual([])
  expect(faults).toEqual([])
})

test('a folder that a killed process left is removed at the next start, however new it is', async () => {
  await using mine = await open(SLOW)
  const began = 'long ago'
  await leave(mine, { pid: spawnSync(process.execPath, ['-v']).pid })
  await leave(mine, { pid: process.ppid, began })
  await leave(mine, { began: null })
  await mkdir(join(root, 'process-of-nobody'))
  await writeFile(join(root, 'records-x.json'), 'x')
  await writeFile(join(root, 'notes'), 'x')
  await using scratch = await open(SLOW)
  expect(await folders()).toEqual(['notes', basename(mine.dir), basename(scratch.dir)].toSorted())
  expect(faults).toEqual([])
})

test('a folder of a living process stays, whichever process it is and however old the folder is', async () => {
  await using mine = await open(SLOW)
  const other = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60_000)'])
  await once(other, 'spawn')
  try {
    const name = await leave(mine, { pid: Number(other.pid), began: null })
    await writeFile(join(mine.dir, 'upload-a'), 'x')
    for (const dir of [join(root, name), mine.dir]) await utimes(dir, OLD, OLD)
    await using next = await open()
    expect(await folders()).toEqual([name, basename(mine.dir), basename(next.dir)].toSorted())
    expect(await readdir(mine.dir)).toEqual(['upload-a'])
  } finally {
    other.kill()
    await once(other, 'exit')
  }
})

test('a process of another container counts as gone after it was silent for the limit, and not before', async () => {
  await using scratch = await open()
  const scope = 'another machine'
  const lively = await leave(scratch, { scope })
  const silent = await leave(scratch, { scope })
  await utimes(join(root, silent), OLD, OLD)
  await expect.poll(folders).toEqual([lively, basename(scratch.dir)].toSorted())
  await utimes(join(root, lively), OLD, OLD)
  await expect.poll(folders).toEqual([basename(scratch.dir)])
})

test('a process sends regular heartbeats, and creates its folder again if it was removed', async () => {
  await using scratch = await open()
  await utimes(scratch.dir, OLD, OLD)
  await expect.poll(async () => (await stat(scratch.dir)).mtimeMs).toBeGreaterThan(LATELY)
  // Renamed at once, as a heartbeat may create a file in it meanwhile.
  await rename(scratch.dir, join(dataDir, 'away'))
  await expect.poll(folders).toEqual([basename(scratch.dir)])
})
