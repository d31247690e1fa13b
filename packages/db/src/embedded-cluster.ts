import { spawn, type ChildProcess } from 'node:child_process'
import { chown, link, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { exists, type ServerLayout } from './embedded-layout.ts'
import { randomBase62 } from './ids.ts'

/** Name of the cluster's superuser and of its database. */
export const NAME = 'plumbline'

/** The role that the service connects as; a migration grants its rights. */
export const SERVING_NAME = 'plumbline_serving'

/** Content of `postmaster.pid` of the server that uses the data directory. */
export interface PidFile {
  readonly pid: number
  readonly port: number
  readonly ready: boolean
}

/**
 * A password of the cluster, for its superuser or for the serving role; generated the first time.
 */
export async function readPassword(
  home: string,
  file: 'password' | 'serving-password',
): Promise<string> {
  const path = join(home, file)
  if (!(await exists(path))) await makePassword(path)
  const password = await readFile(path, 'utf8')
  if (password.length === PASSWORD_CHARS) return password
  throw new Error(`${path} does not hold the database's password`)
}

const PASSWORD_CHARS = 32

/** Writes the file under another name first, so that a kill or a full disk leaves no empty one. */
async function makePassword(path: string): Promise<void> {
  const fresh = `${path}.${randomBase62(8)}.new`
  try {
    await writeFile(fresh, randomBase62(PASSWORD_CHARS), { flag: 'wx', mode: 0o600, flush: true })
    // If two processes run this, the second reads the password that the first wrote.
    await link(fresh, path)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  } finally {
    await rm(fresh, { force: true })
  }
}

/**
 * Creates the cluster the first time, under another name, which it then renames, so that a kill
 * leaves no incomplete one; removes what killed processes have left of theirs.
 */
export async function makeCluster(
  layout: ServerLayout,
  data: string,
  password: string,
): Promise<void> {
  if (!(await isCluster(data))) await makeFresh(layout, data, password)
  await removeUnfinished(data)
}

async function makeFresh(layout: ServerLayout, data: string, password: string): Promise<void> {
  const fresh = `${data}.${randomBase62(8)}.new`
  const passwordFile = `${fresh}.password`
  try {
    await mkdir(fresh, { mode: 0o700 })
    await writeFile(passwordFile, password, { mode: 0o600 })
    if (layout.user !== undefined) {
      await chown(fresh, layout.user.uid, layout.user.gid)
      await chown(passwordFile, layout.user.uid, layout.user.gid)
    }
    await initdb(layout, fresh, passwordFile)
    await rename(fresh, data)
  } catch (error) {
    // If two processes run this, the first to end removes what the other has made.
    if (!(await isCluster(data))) throw error
  } finally {
    await rm(passwordFile, { force: true })
    await rm(fresh, { recursive: true, force: true })
  }
}

async function isCluster(data: string): Promise<boolean> {
  return exists(join(data, 'PG_VERSION'))
}

/** Names of clusters that are being made, and of their password files, beside `data`. */
const UNFINISHED = /^\.[0-9A-Za-z]{8}\.new(?:\.password)?$/

/** What cannot be removed yet, as `initdb` outlives a killed process, is at the next start. */
async function removeUnfinished(data: string): Promise<void> {
  const name = basename(data)
  for (const entry of await readdir(dirname(data))) {
    if (!entry.startsWith(name) || !UNFINISHED.test(entry.slice(name.length))) continue
    await rm(join(dirname(data), entry), { recursive: true, force: true }).catch(() => undefined)
  }
}

async function initdb(
  layout: ServerLayout,
  directory: string,
  passwordFile: string,
): Promise<void> {
  const child = spawn(
    join(layout.programs, 'bin/initdb'),
    [
      `--pgdata=${directory}`,
      `--username=${NAME}`,
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      '--locale=C',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      '--no-instructions',
    ],
    { ...identityOf(layout), cwd: '/', stdio: ['ignore', 'ignore', 'pipe'] },
  )
  let said = ''
  child.stderr.on('data', (piece: Buffer) => {
    said = (said + piece.toString()).slice(-4_000)
  })
  const code = await exitOf(child)
  if (code !== 0) throw new Error(`initdb ended with ${code}: ${said.trim()}`)
}

/**
 * Reads `postmaster.pid`; undefined if it is missing or incomplete, so that no server uses the
 * directory.
 */
export async function readPidFile(data: string): Promise<PidFile | undefined> {
  const text = await readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => undefined)
  const lines = text?.split('\n')
  const pid = Number(lines?.[0])
  if (lines === undefined || !Number.isInteger(pid) || pid <= 0) return undefined
  return { pid, port: Number(lines[3]), ready: lines[7]?.trim() === 'ready' }
}

/** Whether a process with this id runs and, if the system can tell, is a Postgres. */
export async function isPostgres(pid: number): Promise<boolean> {
  if (!signal(pid, 0)) return false
  const name = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => undefined)
  return name === undefined ? process.platform !== 'linux' : name.trim() === 'postgres'
}

/** Sends a signal, or with 0 only asks; false if there is no such process of this user. */
export function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name)
  } catch {
    return false
  }
}

/** The user and group ids to start a program with. */
export function identityOf(layout: ServerLayout): { uid?: number; gid?: number } {
  return layout.user === undefined ? {} : { uid: layout.user.uid, gid: layout.user.gid }
}

/**
 * Resolves with the exit code, the signal's name, or the error that prevented the start; at once if
 * the process has ended before the call.
 */
export function exitOf(child: ChildProcess): Promise<number | string | null> {
  const ended = child.exitCode ?? child.signalCode
  if (ended !== null) return Promise.resolve(ended)
  return new Promise((settle) => {
    child.once('exit', (code, name) => settle(code ?? name))
    child.once('error', (error) => settle(error.message))
  })
}
