import { randomUUID } from 'node:crypto'
import type { Dirent } from 'node:fs'
import { mkdir, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import {
  livenessOf,
  ownIdentity,
  processIdentity,
  type ProcessIdentity,
} from './process-identity.ts'

/** A folder of this process for files in the making; disposing of it removes it with all that is in it. */
export interface Scratch extends AsyncDisposable {
  readonly dir: string
}

/** Times of a scratch folder. */
export interface ScratchTimes {
  /** How often a process says that it lives. */
  readonly beatMs: number
  /** After so long without a word, an owner that cannot be asked is taken for gone. */
  readonly silentMs: number
  /** How often what others left is looked for. */
  readonly sweepMs: number
}

const TIMES: ScratchTimes = { beatMs: 5_000, silentMs: 60_000, sweepMs: 30_000 }

/** A folder of a process, and beside it the note that says whose it is. */
const FOLDER = /^process-[0-9a-f-]{36}$/
const NOTE = /^(process-[0-9a-f-]{36})\.owner$/

/** Files in the making that lie beside the folders: nobody writes there any more. */
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
  const name = `process-${randomUUID()}`
  const dir = join(root, name)
  const note = `${dir}.owner`
  const own = await ownIdentity()
  const claim = async (): Promise<void> => {
    // The note first: a folder without one belongs to nobody.
    await writeFile(note, JSON.stringify(own), { mode: 0o600 })
    await mkdir(dir, { recursive: true, mode: 0o700 })
  }
  await claim()
  const sweep = async (): Promise<void> =>
    await sweepScratch(root, { note, own, silentMs: times.silentMs }, onError)
  await sweep().catch(onError)
  const beating = keepDoing(times.beatMs, onError, () => touch(note, claim))
  const sweeping = keepDoing(times.sweepMs, onError, sweep)
  return {
    dir,
    [Symbol.asyncDispose]: async () => {
      await Promise.all([beating.stop(), sweeping.stop()])
      await rm(dir, { recursive: true, force: true })
      await rm(note, { force: true })
    },
  }
}

/** Does a thing now and then, never twice at once, until it is stopped. */
function keepDoing(
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

/** Writes to a note what it holds: the time of it is then the file system's, and the same for all who share it. */
async function touch(note: string, claim: () => Promise<void>): Promise<void> {
  try {
    const file = await open(note, 'r+')
    try {
      await file.write('{', 0)
    } finally {
      await file.close()
    }
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
    // Taken for gone, as after a sleep of the machine.
    await claim()
  }
}

/** Who sweeps. */
interface Sweeper {
  readonly note: string
  readonly own: ProcessIdentity
  readonly silentMs: number
}

/** Removes what belongs to no living process; one thing that cannot be removed keeps no other. */
async function sweepScratch(
  root: string,
  { note, own, silentMs }: Sweeper,
  onError: (error: unknown) => void,
): Promise<void> {
  const silentSinceMs = (await stat(note)).mtimeMs - silentMs
  for (const entry of await readdir(root, { withFileTypes: true })) {
    try {
      await sweepEntry(root, entry, (path) => isGone(path, own, silentSinceMs))
    } catch (error) {
      onError(error)
    }
  }
}

async function sweepEntry(
  root: string,
  entry: Dirent,
  isGone: (note: string) => Promise<boolean>,
): Promise<void> {
  const path = join(root, entry.name)
  const owned = NOTE.exec(entry.name)?.[1]
  if (entry.isFile() && LOOSE.test(entry.name)) {
    await rm(path, { force: true })
  } else if (owned !== undefined) {
    if (!(await isGone(path))) return
    await rm(join(root, owned), { recursive: true, force: true })
    await rm(path, { force: true })
  } else if (entry.isDirectory() && FOLDER.test(entry.name)) {
    if (!(await exists(`${path}.owner`))) await rm(path, { recursive: true, force: true })
  }
}

async function isGone(note: string, own: ProcessIdentity, silentSinceMs: number): Promise<boolean> {
  const facts = await orAbsent(stat(note))
  if (facts === undefined) return false
  const identity = identityIn(await orAbsent(readFile(note, 'utf8')))
  // One that is being written is not whole yet.
  const liveness = identity === undefined ? 'elsewhere' : await livenessOf(identity, own)
  switch (liveness) {
    case 'lives':
      return false
    case 'gone':
      return true
    case 'elsewhere':
      return facts.mtimeMs < silentSinceMs
  }
}

function identityIn(text: string | undefined): ProcessIdentity | undefined {
  try {
    return processIdentity.parse(JSON.parse(text ?? ''))
  } catch {
    return undefined
  }
}

async function exists(path: string): Promise<boolean> {
  return (await orAbsent(stat(path))) !== undefined
}

async function orAbsent<T>(found: Promise<T>): Promise<T | undefined> {
  try {
    return await found
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined
}
