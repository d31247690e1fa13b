import { createHash, randomUUID } from 'node:crypto'
import { mkdir, readdir, rm, rmdir, stat } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { orAbsent } from './or-absent.ts'
import {
  livenessOf,
  ownIdentity,
  processIdentity,
  type ProcessIdentity,
} from './process-identity.ts'

/** A temporary folder of this process; disposing of it removes it with its content. */
export interface Scratch extends AsyncDisposable {
  readonly dir: string
}

/** Times of scratch folders, in milliseconds. */
export interface ScratchTimes {
  /** Interval of a process's heartbeats. */
  readonly heartbeatMs: number
  /** Time without a heartbeat after which an owner that cannot be checked counts as ended. */
  readonly silentMs: number
  /** Interval of removing folders that ended processes left. */
  readonly sweepMs: number
}

const TIMES: ScratchTimes = { heartbeatMs: 5_000, silentMs: 60_000, sweepMs: 30_000 }

/** Prefix of a process's folder; its owner's identity follows. */
const FOLDER = 'process-'

/** Temporary files beside the folders, left by older versions: no process uses them any more. */
const LOOSE = /^(upload|records|result|repeats|fetch)-/

/**
 * Creates a folder for this process in `DATA_DIR/scratch`, which any number of processes may share,
 * also of several containers, and removes those of ended processes: at once, and regularly.
 */
export async function openScratch(
  dataDir: string,
  onError: (error: unknown) => void,
  times: ScratchTimes = TIMES,
): Promise<Scratch> {
  const root = join(resolve(dataDir), 'scratch')
  await mkdir(root, { recursive: true, mode: 0o700 })
  const own = await scratchOwner()
  const dir = join(root, folderOf(own))
  await mkdir(dir, { mode: 0o700 })
  const sweep = async (): Promise<void> =>
    await sweepScratch(root, { dir, own, silentMs: times.silentMs }, onError)
  await sweep().catch(onError)
  const heartbeat = repeat(times.heartbeatMs, onError, () => touch(dir))
  const sweeping = repeat(times.sweepMs, onError, sweep)
  return {
    dir,
    [Symbol.asyncDispose]: async () => {
      await Promise.all([heartbeat.stop(), sweeping.stop()])
      await rm(dir, { recursive: true, force: true })
    },
  }
}

/** Repeats work at an interval, never concurrently, until it is stopped. */
function repeat(
  everyMs: number,
  onError: (error: unknown) => void,
  work: () => Promise<void>,
): { stop(): Promise<void> } {
  let working: Promise<void> | undefined
  const timer = setInterval(() => {
    working ??= work()
      .catch(onError)
      .finally(() => {
        working = undefined
      })
  }, everyMs)
  timer.unref()
  return {
    stop: async () => {
      clearInterval(timer)
      await working
    },
  }
}

/** The identity of this process; its scope is hashed, as it becomes part of a file name. */
async function scratchOwner(): Promise<ProcessIdentity> {
  const own = await ownIdentity()
  const scope = createHash('sha256').update(own.scope).digest('hex').slice(0, SCOPE_CHARS)
  return { ...own, scope }
}

const SCOPE_CHARS = 16

/**
 * A new folder name for a process. The owner is part of the name, so that no folder is ever without
 * one.
 */
export function folderOf(owner: ProcessIdentity): string {
  const whose = Buffer.from(JSON.stringify(owner)).toString('base64url')
  return `${FOLDER}${whose}.${randomUUID()}`
}

function ownerOf(folder: string): ProcessIdentity | undefined {
  const [whose = ''] = folder.slice(FOLDER.length).split('.')
  try {
    return processIdentity.parse(JSON.parse(Buffer.from(whose, 'base64url').toString('utf8')))
  } catch {
    return undefined
  }
}

/**
 * Sets the modification time of a folder by creating something in it, so that it is the file
 * system's time, which all sharing processes see.
 */
async function touch(dir: string): Promise<void> {
  // The folder was removed because its owner counted as gone, as after a sleep of the machine.
  await mkdir(join(dir, 'heartbeat'), { recursive: true, mode: 0o700 })
  await rmdir(join(dir, 'heartbeat'))
}

/** The sweeping process. */
interface Sweeper {
  readonly dir: string
  readonly own: ProcessIdentity
  readonly silentMs: number
}

/**
 * Removes folders and files without a living owner; one that cannot be removed does not block the
 * others.
 */
async function sweepScratch(
  root: string,
  { dir, own, silentMs }: Sweeper,
  onError: (error: unknown) => void,
): Promise<void> {
  const now = await orAbsent(stat(dir))
  if (now === undefined) return
  for (const entry of await readdir(root, { withFileTypes: true })) {
    const path = join(root, entry.name)
    try {
      const left = entry.isDirectory()
        ? entry.name.startsWith(FOLDER) && (await isGone(path, own, now.mtimeMs - silentMs))
        : LOOSE.test(entry.name)
      if (left) await rm(path, { recursive: true, force: true })
    } catch (error) {
      onError(error)
    }
  }
}

async function isGone(path: string, own: ProcessIdentity, silentSinceMs: number): Promise<boolean> {
  const owner = ownerOf(basename(path))
  const liveness = owner === undefined ? 'gone' : await livenessOf(owner, own)
  switch (liveness) {
    case 'lives':
      return false
    case 'gone':
      return true
    case 'elsewhere': {
      const facts = await orAbsent(stat(path))
      return facts !== undefined && facts.mtimeMs < silentSinceMs
    }
  }
}
