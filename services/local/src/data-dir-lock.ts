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

/**
 * Locks a data directory for this process until disposed, by the file `owner.json` in it. The lock
 * of a process that has ended is replaced.
 *
 * @throws Error if a living process holds the lock
 */
export async function lockDataDir(dataDir: string): Promise<AsyncDisposable> {
  const path = join(dataDir, 'owner.json')
  const { pid, began } = await ownIdentity()
  const me: Owner = { pid, began }
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
  for (let attempt = 1; attempt <= READ_TRIES; attempt++) {
    try {
      return owner.parse(JSON.parse(await readFile(path, 'utf8')))
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return null
      if (codeOf(error) !== undefined) throw error
    }
    await wait(READ_RETRY_MS)
  }
  return null
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
