import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import {
  livenessOf,
  ownIdentity,
  processIdentity,
  type ProcessIdentity,
} from '@plumbline/runtime/process-identity'

/** The process that holds the lock on a data directory. */
const owner = processIdentity.omit({ scope: true })

type Owner = Omit<ProcessIdentity, 'scope'>

/**
 * Attempts to read the lock file, and the delay between them: another process may still be writing
 * it.
 */
const READ_TRIES = 5
const READ_RETRY_MS = 100
/** Delay in milliseconds while another process replaces the file of one that has ended. */
const REPLACED_MS = 10

/**
 * Locks a data directory for this process until disposed, by the file `owner.json` in it. The lock
 * of a process that has ended is replaced.
 *
 * @throws Error if a living process holds the lock
 */
export async function lockDataDir(dataDir: string): Promise<AsyncDisposable> {
  const locked = await lock(join(dataDir, 'owner.json'))
  if (!('pid' in locked)) return locked
  throw new Error(
    `process ${locked.pid} already runs the service on ${dataDir}; ` +
      'to run another beside it, set another DATA_DIR, PORT and ADMIN_PORT',
  )
}

/** Creates a lock file, or tells which living process has done so. */
async function lock(path: string): Promise<AsyncDisposable | Owner> {
  const { pid, began } = await ownIdentity()
  const me: Owner = { pid, began }
  for (;;) {
    if (await write(path, me)) {
      return { [Symbol.asyncDispose]: async () => await rm(path, { force: true }) }
    }
    const other = await read(path)
    if (other === 'absent') continue
    if (other !== 'broken' && (await lives(other))) return other
    await removeLeft(path)
  }
}

/**
 * Removes a lock file whose process has ended, one process at a time: it may have been replaced by
 * that of a living one since it was read.
 */
async function removeLeft(path: string): Promise<void> {
  const turn = await lock(`${path}.replacing`)
  if ('pid' in turn) return await wait(REPLACED_MS)
  try {
    const left = await read(path)
    if (left === 'absent' || (left !== 'broken' && (await lives(left)))) return
    await rm(path, { force: true })
  } finally {
    await turn[Symbol.asyncDispose]()
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

async function read(path: string): Promise<Owner | 'absent' | 'broken'> {
  for (let attempt = 1; attempt <= READ_TRIES; attempt++) {
    try {
      return owner.parse(JSON.parse(await readFile(path, 'utf8')))
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return 'absent'
      if (codeOf(error) !== undefined) throw error
    }
    await wait(READ_RETRY_MS)
  }
  return 'broken'
}

/**
 * Whether the process still runs: its pid may have been reused, in a new container even by this
 * process.
 */
async function lives(noted: Owner): Promise<boolean> {
  const own = await ownIdentity()
  return (await livenessOf({ ...noted, scope: own.scope }, own)) === 'lives'
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined
}
