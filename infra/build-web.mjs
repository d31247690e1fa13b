// Builds the web app if its sources have changed since. Plain JavaScript, like the launcher.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'

/** Sources of the app; the contract's limits and types are compiled into it. */
const SOURCES = [
  'services/web/index.html',
  'services/web/package.json',
  'services/web/public',
  'services/web/src',
  'services/web/vite.config.ts',
  'packages/contract/src',
  'package-lock.json',
]

/**
 * Builds the app into `services/web/dist` if that is missing, older than the sources, or closed to
 * other users, in about two seconds. The build is written to another folder, which then replaces the old one, so that a running
 * service never serves an incomplete app.
 * @returns the error; undefined if the app is up to date
 */
export function buildWeb(root, node) {
  const dist = join(root, 'services/web/dist')
  const page = join(dist, 'index.html')
  if (isForAll(page) && newestOf(root) <= statSync(page).mtimeMs) return undefined
  const vite = join(root, 'node_modules/vite/bin/vite.js')
  // An installation without development dependencies has the app already built.
  if (!existsSync(vite)) return existsSync(page) ? undefined : 'vite is not installed'
  const beside = `${dist}.${process.pid}`
  // Root builds what another user serves.
  const umask = process.umask(0o022)
  const { status, stdout, stderr } = spawnSync(
    node,
    [vite, 'build', 'services/web', '--outDir', beside, '--emptyOutDir', '--logLevel', 'warn'],
    { cwd: root, encoding: 'utf8', env: { ...process.env, NODE_ENV: 'production' } },
  )
  process.umask(umask)
  if (status !== 0) {
    rmSync(beside, { recursive: true, force: true })
    return `${stdout}${stderr}`.trim()
  }
  const old = `${dist}.old.${process.pid}`
  try {
    if (existsSync(dist)) renameSync(dist, old)
    renameSync(beside, dist)
  } catch (error) {
    // Another process has already built it from the same sources.
    rmSync(beside, { recursive: true, force: true })
    if (!existsSync(page)) return String(error)
  }
  rmSync(old, { recursive: true, force: true })
  return undefined
}

/** Whether a file exists and every user may read it. */
function isForAll(path) {
  return ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o004) !== 0
}

/** Time of the last change of a source, in ms. */
function newestOf(root) {
  return Math.max(...SOURCES.map((name) => newestIn(join(root, name))))
}

function newestIn(path) {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) return 0
  if (!found.isDirectory()) return found.mtimeMs
  return Math.max(found.mtimeMs, ...readdirSync(path).map((name) => newestIn(join(path, name))))
}
