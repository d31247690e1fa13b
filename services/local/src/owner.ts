import { execFile } from 'node:child_process'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import { z } from 'zod'

/** The process that a data directory belongs to. */
const owner = z.object({
  pid: z.int().min(1),
  /** When it began, in the system's own words; null where the system does not tell. */
  began: z.string().nullable(),
})

type Owner = z.infer<typeof owner>

/** Looks at a note, and the pause between two: one that another process is writing is not whole yet. */
const LOOKS = 5
const LOOK_MS = 100

/**
 * Makes a data directory this process's own until disposed, by `owner.json` in it. A note that a process
 * has left that is gone is replaced.
 *
 * @throws where the directory belongs to a process that lives
 */
export async function ownDataDir(dataDir: string): Promise<AsyncDisposable> {
  const path = join(dataDir, 'owner.json')
  const me: Owner = { pid: process.pid, began: await beginOf(process.pid) }
  for (;;) {
    if (await write(path, me)) {
      return { [Symbol.asyncDispose]: async () => await rm(path, { force: true }) }
    }
    const other = await read(path)
    if (other !== null && (await lives(other))) {
      throw new Error(
        `process ${other.pid} already runs the service on ${dataDir}; ` +
          'to run another beside it, set another DATA_DIR and PORT',
      )
    }
    await rm(path, { force: true })
  }
}

async function write(path: string, note: Owner): Promise<boolean> {
  try {
    await writeFile(path, `${JSON.stringify(note)}\n`, { flag: 'wx', mode: 0o600 })
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}

async function read(path: string): Promise<Owner | null> {
  for (let look = 1; look <= LOOKS; look++) {
    try {
      return owner.parse(JSON.parse(await readFile(path, 'utf8')))
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return null
      if (codeOf(error) !== undefined) throw error
    }
    await wait(LOOK_MS)
  }
  return null
}

/** Whether the process is still there: its number may be another's by now, in a new container even ours. */
async function lives({ pid, began }: Owner): Promise<boolean> {
  try {
    process.kill(pid, 0)
  } catch (error) {
    // A process of somebody else's may be seen and not signalled.
    if (codeOf(error) !== 'EPERM') return false
  }
  const now = await beginOf(pid)
  return began === null || now === null ? pid !== process.pid : began === now
}

/** When a process began: on Linux in ticks since the system's start (proc(5), field 22), else as `ps` says. */
async function beginOf(pid: number): Promise<string | null> {
  try {
    if (process.platform !== 'linux') {
      return (await promisify(execFile)('ps', ['-o', 'lstart=', '-p', String(pid)])).stdout.trim()
    }
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
    // The name, in brackets, may hold anything.
    const facts = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    // One that has ended stays so until its parent looks at it.
    return facts[0] === 'Z' ? 'ended' : (facts[19] ?? null)
  } catch {
    return null
  }
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined
}
