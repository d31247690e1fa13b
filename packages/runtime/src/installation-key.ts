import { randomBytes } from 'node:crypto'
import { link, mkdir, open, rename, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { hasCode } from './error-code.ts'
import { orAbsent } from './or-absent.ts'

/** Minimum length of a key: 32 characters of base64 are 192 bits. */
export const INSTALLATION_KEY_CHARS = 32

/** Name of the key's file in `DATA_DIR`. */
export const INSTALLATION_KEY_FILE = 'installation.key'

/** Maximum bytes that are read: a longer file is not a key. */
const FILE_BYTES_MAX = 4_096

const KEY_BYTES = 32

/**
 * The key of this installation: `INSTALLATION_KEY`, else the content of a file in `DATA_DIR`, which
 * the first process creates. Processes that start together get the same key: the file is created
 * atomically.
 *
 * @throws Error if the file cannot be created or read, is damaged, or is readable by every user
 */
export async function readInstallationKey(settings: {
  readonly INSTALLATION_KEY?: string | undefined
  readonly DATA_DIR: string
}): Promise<string> {
  if (settings.INSTALLATION_KEY !== undefined) return settings.INSTALLATION_KEY
  const path = join(settings.DATA_DIR, INSTALLATION_KEY_FILE)
  try {
    return (await readKeyFile(path)) ?? (await makeKeyFile(settings.DATA_DIR, path))
  } catch (cause) {
    throw new Error('the key of the installation cannot be read or created; set INSTALLATION_KEY', {
      cause,
    })
  }
}

/**
 * The key of the file in a data directory; undefined if there is none. @throws as
 * `readInstallationKey`
 */
export async function findInstallationKey(dataDir: string): Promise<string | undefined> {
  return await readKeyFile(join(dataDir, INSTALLATION_KEY_FILE))
}

/**
 * Replaces the key in the file of a data directory, keeping its owner; atomic across a crash. Older
 * backups need the previous key, which stays beside it.
 *
 * @returns name of the file with the previous key, in the data directory
 */
export async function replaceInstallationKey(dataDir: string, key: string): Promise<string> {
  const path = join(dataDir, INSTALLATION_KEY_FILE)
  const draft = `${path}.${process.pid}.${randomBytes(6).toString('hex')}`
  try {
    const { uid, gid, mode } = await stat(path)
    await using file = await open(draft, 'wx', 0o600)
    await file.writeFile(`${key}\n`)
    await file.chown(uid, gid)
    await file.chmod(mode & 0o770)
    await file.sync()
    const until = new Date().toISOString().replaceAll(/[-:.]/g, '')
    const previous = `${INSTALLATION_KEY_FILE}.until-${until}`
    await link(path, join(dataDir, previous))
    await rename(draft, path)
    await syncFolder(dataDir)
    return previous
  } finally {
    await unlink(draft).catch(() => undefined)
  }
}

async function readKeyFile(path: string): Promise<string | undefined> {
  const found = await orAbsent(stat(path))
  if (found === undefined) return undefined
  // A volume's files may be readable by a group that an orchestrator sets; access for every user is
  // never intended.
  if ((found.mode & 0o007) !== 0) {
    throw new Error(`${path} is open to every user of the machine; make it 0600`)
  }
  await using file = await open(path, 'r')
  const { bytesRead, buffer } = await file.read(Buffer.alloc(FILE_BYTES_MAX + 1))
  const key = buffer.toString('utf8', 0, bytesRead).trim()
  if (bytesRead > FILE_BYTES_MAX || key.length < INSTALLATION_KEY_CHARS) {
    throw new Error(`${path} is damaged; restore it, or remove it to create a new one`)
  }
  return key
}

async function makeKeyFile(dataDir: string, path: string): Promise<string> {
  await mkdir(dataDir, { recursive: true })
  const draft = `${path}.${process.pid}.${randomBytes(6).toString('hex')}`
  const key = randomBytes(KEY_BYTES).toString('base64url')
  try {
    await using file = await open(draft, 'wx', 0o600)
    await file.writeFile(`${key}\n`)
    await file.sync()
    // A link never replaces a file that another process created first.
    await link(draft, path)
    await syncFolder(dataDir)
    return key
  } catch (error) {
    const theirs = hasCode(error, 'EEXIST') ? await readKeyFile(path) : undefined
    if (theirs === undefined) throw error
    return theirs
  } finally {
    await unlink(draft).catch(() => undefined)
  }
}

async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path, 'r')
  await folder.sync()
}
