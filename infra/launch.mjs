// Starts a command of this project on Node 24, after installing missing dependencies. Plain JavaScript
// for any Node from 18 on: npm installs Node 24 as a dependency of the project.
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { buildWeb } from './build-web.mjs'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))

/** The file that each npm script runs. */
const COMMANDS = {
  start: 'services/local/src/main.ts',
  move: 'services/local/src/move.ts',
  rekey: 'services/local/src/rekey.ts',
  demo: 'test/demo/main.ts',
  test: 'infra/test.ts',
  check: 'infra/check.ts',
  soak: 'infra/soak.ts',
  bench: 'test/bench/main.ts',
  score: 'test/corpora/score.ts',
  predict: 'test/corpora/predict.ts',
  simulate: 'test/simulate/main.ts',
  lab: 'test/lab/main.ts',
  cli: 'services/cli/src/main.ts',
  web: 'test/web/main.ts',
  clients: 'infra/clients/build.ts',
  kubernetes: 'infra/kubernetes/build.ts',
}

/** Commands that serve the web app. */
const SERVING = ['start', 'demo', 'test', 'web']

/** How often to check whether npm has ended. */
const POLL_MS = 250

const [command, ...args] = process.argv.slice(2)
const script = COMMANDS[command]
if (script === undefined && command !== 'install')
  fail(`Unknown command ${command}; expected install, ${Object.keys(COMMANDS).join(', ')}.`)

install()
if (script === undefined) process.exit()
const node = node24()
if (SERVING.includes(command)) buildWebApp()
const child = spawn(node, ['--disable-warning=ExperimentalWarning', join(ROOT, script), ...args], {
  stdio: 'inherit',
  // npm runs scripts in the root; paths that a user gives are relative to the user's folder.
  cwd: process.env.INIT_CWD ?? process.cwd(),
  env: {
    // Cache of compiled code for all processes of the project, which halves their start.
    NODE_COMPILE_CACHE: join(ROOT, 'node_modules', '.cache', 'node'),
    ...process.env,
    ...placeOfData(),
    PATH: `${join(ROOT, 'node_modules', '.bin')}:${process.env.PATH}`,
  },
})
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
stopWithNpm()
child.on('exit', (code, signal) => {
  process.exit(code ?? 128 + (constants.signals[signal] ?? 0))
})

/** Installs the dependencies of the lock file with `npm ci`, unless they are installed. */
function install() {
  const lock = createHash('sha256')
    .update(readFileSync(join(ROOT, 'package-lock.json')))
    .digest('hex')
  const stamp = join(ROOT, 'node_modules', '.installed-lock')
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lock) return
  console.error('Installing dependencies (npm ci) ...')
  // Root installs what another user runs.
  const umask = process.umask(0o022)
  const { status } = spawnSync('npm', ['ci', '--no-fund', '--no-audit', '--loglevel=error'], {
    cwd: ROOT,
    // Standard output is for the command's own output.
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  })
  process.umask(umask)
  if (status !== 0) fail('npm ci failed; see above.')
  writeFileSync(stamp, lock)
}

/** Builds the web app. Without it the API starts, too, and its pages say that the app is missing. */
function buildWebApp() {
  const fault = buildWeb(ROOT, node)
  if (fault !== undefined) console.error(`The web app could not be built: ${fault}`)
}

/** An absolute `DATA_DIR`, so that the service and the command line use the same from any folder. */
function placeOfData() {
  const isUnset = (process.env.DATA_DIR ?? '') === ''
  return isUnset && ['start', 'cli', 'move', 'rekey'].includes(command)
    ? { DATA_DIR: join(ROOT, '.data') }
    : {}
}

/**
 * Stops the program when the parent process is gone: npm sends SIGTERM only to the shell that runs this
 * process, and the shell ends without forwarding the signal.
 */
function stopWithNpm() {
  if (process.env.npm_lifecycle_event === undefined) return
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    child.kill('SIGTERM')
  }, POLL_MS)
  timer.unref()
}

/** Path of Node 24: that which npm installed, or else the system's. */
function node24() {
  const packaged = join(ROOT, 'node_modules', '.bin', 'node')
  for (const path of [packaged, process.execPath]) {
    if (!existsSync(path)) continue
    const version = spawnSync(path, ['--version'], { encoding: 'utf8' }).stdout ?? ''
    const [major, minor] = version.slice(1).split('.').map(Number)
    if (major === 24 && minor >= 12) return path
  }
  return fail(
    `Node 24.12 or later of the 24 line is needed; this is ${process.version}, and npm has no packaged ` +
      `Node for ${process.platform} ${process.arch}. Install Node 24 and run the command again.`,
  )
}

function fail(message) {
  console.error(message)
  process.exit(1)
}
