// Builds the web app where its sources are newer than what was built. Plain JavaScript, as the launcher.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'

/** What the app is made of; the contract's limits and types are compiled into it. */
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
 * Builds the app below `services/web/dist`, about two seconds, where that is missing or older than its sources. It
 * is built beside it and put in its place whole, so that a service that runs is never without it.
 * @returns what went wrong; undefined where it is there
 */
export function buildWeb(root, node) {
  const dist = join(root, 'services/web/dist')
  const page = join(dist, 'index.html')
  if (existsSync(page) && newestOf(root) <= statSync(page).mtimeMs) return undefined
  const vite = join(root, 'node_modules/vite/bin/vite.js')
  // Where only what serves is installed, the app came built.
  if (!existsSync(vite)) return existsSync(page) ? undefined : 'vite is not installed'
  const beside = `${dist}.${process.pid}`
  const { status, stdout, stderr } = spawnSync(
    node,
    [vite, 'build', 'services/web', '--outDir', beside, '--emptyOutDir', '--logLevel', 'warn'],
    { cwd: root, encoding: 'utf8', env: { ...process.env, NODE_ENV: 'production' } },
  )
  if (status !== 0) {
    rmSync(beside, { recursive: true, force: true })
    return `${stdout}${stderr}`.trim()
  }
  const old = `${dist}.old.${process.pid}`
  try {
    if (existsSync(dist)) renameSync(dist, old)
    renameSync(beside, dist)
  } catch (error) {
    // Another process was faster, with the same sources.
    rmSync(beside, { recursive: true, force: true })
    if (!existsSync(page)) return String(error)
  }
  rmSync(old, { recursive: true, force: true })
  return undefined
}

/** When the newest of the sources was changed, in ms. */
function newestOf(root) {
  return Math.max(...SOURCES.map((name) => newestIn(join(root, name))))
}

function newestIn(path) {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) return 0
  if (!found.isDirectory()) return found.mtimeMs
  return Math.max(found.mtimeMs, ...readdirSync(path).map((name) => newestIn(join(path, name))))
}
