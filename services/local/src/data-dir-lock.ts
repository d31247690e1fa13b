import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import {
  livenessOf,
  ownIdentity,
  processIdentity,
  type ProcessIdentity,
} from '@plumbline/runtime/process-identity'

/** The process that a data directory belongs to. */
const owner = processIdentity.omit({ place: true })

type Owner = Omit<ProcessIdentity, 'place'>

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
async function lives(noted: Owner): Promise<boolean> {
  const own = await ownIdentity()
  return (await livenessOf({ ...noted, place: own.place }, own)) === 'lives'
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined
}
