import { mkdtemp, readdir, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Where Linux keeps files in memory; a container may have 64 MB there. */
const IN_MEMORY = '/dev/shm'

/** Several times what the servers of a whole run hold at their most. */
const ROOM_BYTES = 8 * 1024 ** 3

const PREFIX = 'plumbline-test-'
/** A directory of a run, named by the process that it is of. */
const OWNED = new RegExp(`^${PREFIX}(\\d+)-`)

/**
 * Makes a directory for the files of a run's servers: in memory where there is room to spare, for
 * to copy a database there takes half the processor time that it takes on a disk, else below the
 * usual one.
 */
export async function makeServerDirectory(): Promise<string> {
  const parent = (await hasRoomInMemory()) ? IN_MEMORY : tmpdir()
  await removeLeftBehind(parent)
  return await mkdtemp(join(parent, `${PREFIX}${process.pid}-`))
}

/** Removes what runs left there that were killed: their servers have ended with them. */
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
    // Another user's.
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
