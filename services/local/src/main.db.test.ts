import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import { openDatabase } from '@plumbline/db/database'
import { readWorkers, WORKER_KINDS } from '@plumbline/db/workers'
import { processEnvironment } from '@plumbline/runtime/settings'
import { expect, test } from 'vitest'
import { freePort } from '@plumbline/testkit/child-server'
import { createTestDatabase, servingUrlOf } from '@plumbline/testkit/postgres'

const MAIN = fileURLToPath(new URL('main.ts', import.meta.url))
const CLI = fileURLToPath(new URL('../../cli/src/main.ts', import.meta.url))
const START_MS = 120_000

test(
  'a first start without a terminal writes its keys to a file, is found once /readyz gives 200, has an admin port for each worker, and is the only one on its directory',
  async () => {
    await using stack = new AsyncDisposableStack()
    const database = stack.use(await createTestDatabase())
    const dataDir = await mkdtemp(join(tmpdir(), 'plumbline-local-'))
    stack.defer(() => rm(dataDir, { recursive: true, force: true }))
    const port = await freePort()
    const workerPort = await freePair()
    const start = (ownPort: number): ChildProcess => {
      const env = {
        ...processEnvironment(),
        DATABASE_URL: servingUrlOf(database.url),
        MIGRATE_DATABASE_URL: database.url,
        DATA_DIR: dataDir,
        REDIS_URL: '',
        PORT: String(ownPort),
        ADMIN_PORT: '0',
        WORKER_ADMIN_PORT: String(workerPort),
        DRAIN_SECONDS: '1',
      }
      const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', MAIN], {
        env,
        // With a channel (`ipc`) it ends with this process even if a failed test does not stop it.
        stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      })
      stack.defer(async () => {
        if (child.exitCode !== null || child.signalCode !== null) return
        child.kill('SIGTERM')
        await once(child, 'exit')
      })
      return child
    }
    const first = start(port)
    first.stderr?.resume()
    let printed = ''
    first.stdout?.setEncoding('utf8').on('data', (text: string) => (printed += text))
    const isReady = once(first, 'message')

    // Once /readyz is 200, the command line finds the service, and there is a worker of each kind.
    const statuses = await untilReady(`http://127.0.0.1:${port}/readyz`, first)
    expect(statuses.every((status) => status === 503)).toBe(true)
    const noted = await readFile(join(dataDir, 'service.json'), 'utf8')
    const facts = JSON.parse(noted) as { readonly databaseUrl: string; readonly adminUrl: string }
    expect(facts.databaseUrl).toBe(servingUrlOf(database.url))
    await using db = openDatabase({ url: facts.databaseUrl, poolSize: 1, applicationName: 'test' })
    expect(new Set((await readWorkers(db)).map(({ kind }) => kind))).toEqual(new Set(WORKER_KINDS))
    // Of the settings by which a command finds the service it has the data directory alone.
    const { stdout } = await promisify(execFile)(process.execPath, [CLI, 'account', 'list'], {
      env: { PATH: processEnvironment()['PATH'], DATA_DIR: dataDir },
    })
    expect(stdout).toContain('owner@localhost')

    await isReady
    const programs = [workerPort, workerPort + 1].map(async (own) => {
      const ready = await fetch(`http://127.0.0.1:${own}/readyz`)
      return [ready.status, await ready.json()]
    })
    expect(await Promise.all(programs)).toMatchObject([
      [200, { ready: true, kinds: ['email', 'phone', 'ip', 'domain'] }],
      [200, { ready: true, kinds: ['batch'] }],
    ])
    const keys = JSON.parse(await readFile(join(dataDir, 'first-keys.json'), 'utf8'))
    expect(keys).toEqual({
      account_id: expect.stringMatching(/^acc_/),
      live_key: expect.stringMatching(/^svc_live_/),
      test_key: expect.stringMatching(/^svc_test_/),
      welcome_url: expect.stringMatching(
        /^http:\/\/127\.0\.0\.1:\d+\/app\/welcome#[0-9A-Za-z]{40}$/,
      ),
    })
    expect((await stat(join(dataDir, 'first-keys.json'))).mode & 0o777).toBe(0o600)
    await expect.poll(() => printed).toContain(`in a browser: ${join(dataDir, 'first-keys.json')}`)
    expect(printed).not.toMatch(/svc_(live|test)_|welcome#/)

    const second = start(0)
    second.stdout?.resume()
    let said = ''
    second.stderr?.setEncoding('utf8').on('data', (text: string) => (said += text))
    const [status]: unknown[] = await once(second, 'close')
    expect(status).toBe(1)
    expect(said).toBe(
      `Plumbline cannot start: process ${first.pid} already runs the service on ${dataDir}; ` +
        'to run another beside it, set another DATA_DIR, PORT and ADMIN_PORT\n',
    )
    expect(await readFile(join(dataDir, 'service.json'), 'utf8')).toBe(noted)
    expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200)

    // A kind of worker that is missing later is shown to the operator only.
    await db.pool.query(`delete from workers where kind = 'phone'`)
    const detail = (await (await fetch(new URL('/readyz', facts.adminUrl))).json()) as object
    expect(detail).toMatchObject({ ready: true, away: ['phone'] })
    expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200)

    first.kill('SIGTERM')
    await once(first, 'exit')
    expect(await readdir(dataDir)).not.toContain('owner.json')
  },
  3 * START_MS,
)

test(
  'a first start that fails, as its port is in use, tells of the account that it has made',
  async () => {
    await using stack = new AsyncDisposableStack()
    const database = stack.use(await createTestDatabase())
    const dataDir = await mkdtemp(join(tmpdir(), 'plumbline-local-'))
    stack.defer(() => rm(dataDir, { recursive: true, force: true }))
    const taken = createServer().listen(0, '127.0.0.1')
    stack.defer(() => void taken.close())
    await once(taken, 'listening')
    const address = taken.address()
    const port = address === null || typeof address === 'string' ? '' : String(address.port)
    const run = promisify(execFile)(process.execPath, [MAIN], {
      env: {
        ...processEnvironment(),
        DATABASE_URL: servingUrlOf(database.url),
        MIGRATE_DATABASE_URL: database.url,
        DATA_DIR: dataDir,
        REDIS_URL: '',
        PORT: port,
        ADMIN_PORT: '0',
        LOG_LEVEL: 'fatal',
        STOP_DELAY_SECONDS: '0',
        DRAIN_SECONDS: '1',
      },
    })
    await expect(run).rejects.toMatchObject({
      code: 1,
      stdout: expect.stringMatching(
        /^\nA first account was made: acc_\w+ \(plan pro\)\n {2}its keys/,
      ),
      stderr: expect.stringContaining('Plumbline cannot start: api ended with 1; see above'),
    })
  },
  3 * START_MS,
)

/** Polls until the status is 200; returns the statuses before that. */
async function untilReady(url: string, child: ChildProcess): Promise<readonly number[]> {
  const statuses: number[] = []
  for (;;) {
    if (child.exitCode !== null) throw new Error(`the service ended with ${child.exitCode}`)
    const answer = await fetch(url).catch(() => undefined)
    if (answer?.status === 200) return statuses
    if (answer !== undefined) statuses.push(answer.status)
    await wait(20)
  }
}

/** The first of two consecutive free ports, below those that the system hands out. */
async function freePair(): Promise<number> {
  for (let port = 20_000; port < 30_000; port += 2) {
    if ((await isFree(port)) && (await isFree(port + 1))) return port
  }
  throw new Error('no two free ports')
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer().listen(port, '127.0.0.1')
  try {
    await once(probe, 'listening')
  } catch {
    return false
  }
  probe.close()
  await once(probe, 'close')
  return true
}
