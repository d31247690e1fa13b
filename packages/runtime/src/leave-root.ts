import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, lchownSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chownTree, chownFolder, type SystemUser } from './chown-tree.ts'
import { filesFolder } from './files-url.ts'
import { INSTALLATION_KEY_FILE, readInstallationKey } from './installation-key.ts'
import { processEnvironment } from './settings.ts'

/** Users that the service runs as instead of root; the first that exists is used. */
const USERS = ['plumbline', 'nobody']

/** Files, folders and ports that a program must still access as another user. */
export interface RootlessNeeds {
  readonly DATA_DIR: string
  /** Unset: its file is created as root and given to the user. */
  readonly INSTALLATION_KEY?: string | undefined
  readonly FILES_URL?: string | undefined
  readonly DATABASE_URL?: string | undefined
  readonly DATABASE_DIRECT_URL?: string | undefined
  /** Other files and folders that it reads; undefined ones are not configured. */
  readonly reads: readonly (string | undefined)[]
  /** The port it listens on; 0 or absent if it needs none that is privileged. */
  readonly port?: number
}

/**
 * Changes a process that was started as root to a user who owns nothing else, so that an attacker
 * who takes it over does not control the machine. Gives that user the files of root in the folders
 * that the service writes. If the user cannot access what the program needs, the process stays
 * root, and `warn` is called with the reason.
 */
export async function leaveRoot(
  needs: RootlessNeeds,
  warn: (message: string) => void,
): Promise<void> {
  if (process.getuid?.() !== 0) return
  const user = firstUser()
  const obstacle = user === undefined ? 'there is no user "nobody"' : await prepare(needs, user)
  if (user === undefined || obstacle !== undefined) {
    warn(`runs on as root: ${obstacle}`)
    return
  }
  // Node caches compiled code beside the project, where the user cannot write.
  flushCompileCache()
  process.setgroups?.([user.gid])
  process.setgid?.(user.gid)
  process.setuid?.(user.uid)
  if (process.getuid() === 0) throw new Error(`the user could not be changed to "${user.name}"`)
}

function firstUser(): SystemUser | undefined {
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n')
  const users = lines.map((line) => line.split(':'))
  for (const name of USERS) {
    const fields = users.find(([first]) => first === name)
    const [uid, gid] = [Number(fields?.[2]), Number(fields?.[3])]
    if (uid > 0 && gid > 0) return { name, uid, gid }
  }
  return undefined
}

/** Gives the user its folders; returns why that is not possible, undefined on success. */
async function prepare(needs: RootlessNeeds, user: SystemUser): Promise<string | undefined> {
  if (isReserved(needs.port ?? 0)) {
    return `only root may listen on port ${needs.port}; set PORT to 1024 or more, behind a proxy`
  }
  // Checked before anything is changed: not every root may change its user.
  const reads = [projectRoot(), ...needs.reads, ...filesBehind(needs)]
  const closed = unreachable(user, 'r', reads)
  if (closed !== undefined) return `the user "${user.name}" cannot read ${closed}`
  try {
    const closed = unwritable(needs, user)
    if (closed === undefined) await chownKey(needs, user)
    return closed
  } catch (error) {
    return `the folders cannot be handed to "${user.name}": ${String(error)}`
  }
}

function unwritable({ DATA_DIR, FILES_URL }: RootlessNeeds, user: SystemUser): string | undefined {
  const dataDir = resolve(DATA_DIR)
  mkdirSync(dataDir, { recursive: true, mode: 0o711 })
  // We let others through but not list it: the folder itself stays root's.
  chmodSync(dataDir, (statSync(dataDir).mode & 0o7777 & ~0o066) | 0o011)
  const own = ['scratch', 'lists'].map((name) => join(dataDir, name))
  const files = filesFolder(FILES_URL, dataDir)
  if (FILES_URL === undefined && files !== null) own.push(files)
  for (const folder of own) chownFolder(folder, user)
  if (FILES_URL !== undefined && files !== null) {
    if (!existsSync(files)) chownFolder(files, user)
    // The operator's folder is not changed; these files are ours by their names.
    for (const name of ['uploads', 'results', 'installation']) chownTree(join(files, name), user)
  }
  const closed = unreachable(user, 'w', files === null ? own : [...own, files])
  return closed === undefined
    ? undefined
    : `the user "${user.name}" cannot write to ${closed}; open the way (chmod o+x on the closed folders) ` +
        'or set DATA_DIR and FILES_URL elsewhere'
}

/** Creates the key's file while the process is root: only root may write to the data directory. */
async function chownKey(needs: RootlessNeeds, user: SystemUser): Promise<void> {
  if (needs.INSTALLATION_KEY !== undefined) return
  await readInstallationKey(needs)
  // That folder belongs to root, so that no other user can have placed a link there.
  lchownSync(join(resolve(needs.DATA_DIR), INSTALLATION_KEY_FILE), user.uid, user.gid)
}

/** Root of the project: code is loaded from it while the process runs. */
function projectRoot(): string {
  return resolve(dirname(fileURLToPath(import.meta.url)), '../../..')
}

/** Files that drivers open later: certificates of the database, credentials of the store. */
function filesBehind({
  DATABASE_URL = '',
  DATABASE_DIRECT_URL = '',
  FILES_URL = '',
}: RootlessNeeds): readonly string[] {
  const urls = `${DATABASE_URL}\n${DATABASE_DIRECT_URL}`
  const named = [...urls.matchAll(/[?&]ssl(?:cert|key|rootcert)=([^&\n]+)/g)]
  const certificates = named.map(([, path = '']) => decodeURIComponent(path))
  if (!FILES_URL.startsWith('s3:')) return certificates
  const environment = processEnvironment()
  const home = join(environment['HOME'] ?? '/root', '.aws')
  const keys = [
    environment['AWS_SHARED_CREDENTIALS_FILE'] ?? join(home, 'credentials'),
    environment['AWS_CONFIG_FILE'] ?? join(home, 'config'),
    environment['AWS_WEB_IDENTITY_TOKEN_FILE'],
  ]
  return [...certificates, ...keys.filter((path) => path !== undefined && existsSync(path))].filter(
    (path) => path !== undefined,
  )
}

/**
 * The first path that the user cannot access, found by trying as that user, since mode bits alone
 * do not decide.
 */
function unreachable(
  user: SystemUser,
  access: 'r' | 'w',
  paths: readonly (string | undefined)[],
): string | undefined {
  const asked = paths.filter((path) => path !== undefined)
  const script = `for path do test -${access} "$path" || { printf %s "$path"; exit 1; }; done`
  const { status, stdout } = spawnSync('/bin/sh', ['-c', script, 'sh', ...asked], {
    uid: user.uid,
    gid: user.gid,
    cwd: '/',
    encoding: 'utf8',
    timeout: 10_000,
    env: {},
  })
  if (status === 0) return undefined
  return stdout === '' || stdout === null ? 'any file: root may not change to it' : stdout
}

function isReserved(port: number): boolean {
  if (port === 0) return false
  const place = '/proc/sys/net/ipv4/ip_unprivileged_port_start'
  const first = existsSync(place) ? Number(readFileSync(place, 'utf8')) : 1024
  return port < first
}
