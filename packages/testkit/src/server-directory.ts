import { mkdtemp, readdir, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Linux's file system in memory; in a container it may have only 64 MB. */
const IN_MEMORY = '/dev/shm'

/** Free bytes that it must have: several times as many as the servers of a run use. */
const ROOM_BYTES = 8 * 1024 ** 3

const PREFIX = 'plumbline-test-'
/** Name of a run's directory, which contains the id of the run's process. */
const OWNED = new RegExp(`^${PREFIX}(\\d+)-`)

/**
 * Creates a directory for the files of a run's servers: in memory if there is enough space, since
 * copying a database there takes half the processor time, else in the usual temporary directory.
 */
export async function makeServerDirectory(): Promise<string> {
  const parent = (await hasRoomInMemory()) ? IN_MEMORY : tmpdir()
  await removeLeftBehind(parent)
  return await mkdtemp(join(parent, `${PREFIX}${process.pid}-`))
}

/** Removes directories of killed runs, whose servers have ended, too. */
async function removeLeftBehind(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const pid = OWNED.exec(name)?.[1]
    if (pid !== undefined && !isRunning(Number(pid))) {
      await rm(join(parent, name), { recursive: true, force: true })
    }
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // EPERM: the process of another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

async function hasRoomInMemory(): Promise<boolean> {
  if (process.platform !== 'linux' || process.availableMemory() < ROOM_BYTES) return false
  try {
    const { bavail, bsize } = await statfs(IN_MEMORY)
    return bavail * bsize >= ROOM_BYTES
  } catch {
    return false
  }
}
