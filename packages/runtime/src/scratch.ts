import { createHash, randomUUID } from 'node:crypto'
import { mkdir, readdir, rm, rmdir, stat } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import {
  livenessOf,
  ownIdentity,
  processIdentity,
  type ProcessIdentity,
} from './process-identity.ts'

/** A folder of this process for temporary files; disposing of it removes it and its contents. */
export interface Scratch extends AsyncDisposable {
  readonly dir: string
}

/** Times of a scratch folder. */
export interface ScratchTimes {
  /** How often a process renews its heartbeat. */
  readonly heartbeatMs: number
  /** An owner that cannot be checked counts as ended after this long without a heartbeat. */
  readonly silentMs: number
  /** How often folders that ended processes left are removed. */
  readonly sweepMs: number
}

const TIMES: ScratchTimes = { heartbeatMs: 5_000, silentMs: 60_000, sweepMs: 30_000 }

/** Prefix of the name of a process's folder; its owner's identity follows. */
const FOLDER = 'process-'

/** Temporary files beside the folders: no process writes there any more. */
const LOOSE = /^(upload|records|result|repeats|fetch)-/

/**
 * Opens a folder of this process's own in `DATA_DIR/scratch`, which any number of processes may share, also of
 * several containers, and removes those of processes that are gone: at once, and now and then again.
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

/** Repeats work at an interval, never two runs at once, until it is stopped. */
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

/** This process; where its number counts is told by a hash, as it stands in a name. */
async function scratchOwner(): Promise<ProcessIdentity> {
  const own = await ownIdentity()
  const scope = createHash('sha256').update(own.scope).digest('hex').slice(0, SCOPE_CHARS)
  return { ...own, scope }
}

const SCOPE_CHARS = 16

/** A new name for a folder of a process. In the name, so that no folder is ever without its owner. */
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
 * Sets the time of a folder: by what is made in it, so that it is the file system's time, the same for all
 * who share it.
 */
async function touch(dir: string): Promise<void> {
  // It is gone where its owner was taken for gone, as after a sleep of the machine.
  await mkdir(join(dir, 'heartbeat'), { recursive: true, mode: 0o700 })
  await rmdir(join(dir, 'heartbeat'))
}

/** Who sweeps. */
interface Sweeper {
  readonly dir: string
  readonly own: ProcessIdentity
  readonly silentMs: number
}

/** Removes what belongs to no living process; one thing that cannot be removed keeps no other. */
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

async function orAbsent<T>(found: Promise<T>): Promise<T | undefined> {
  try {
    return await found
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}
