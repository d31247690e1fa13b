import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { processEnvironment } from '@plumbline/runtime/settings'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/support/postgres.ts'

const MAIN = fileURLToPath(new URL('main.ts', import.meta.url))
const START_MS = 60_000

test(
  'a second start on a data directory is refused in one sentence, and the first runs on',
  async () => {
    await using stack = new AsyncDisposableStack()
    const database = stack.use(await createTestDatabase())
    const dataDir = await mkdtemp(join(tmpdir(), 'plumbline-local-'))
    stack.defer(() => rm(dataDir, { recursive: true, force: true }))
    const start = (): ChildProcess => {
      const env = { ...processEnvironment(), DATABASE_URL: database.url, DATA_DIR: dataDir }
      const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', MAIN], {
        env: { ...env, REDIS_URL: '', PORT: '0', ADMIN_PORT: '0', DRAIN_SECONDS: '1' },
        stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      })
      stack.defer(async () => {
        if (child.exitCode !== null || child.signalCode !== null) return
        child.kill('SIGTERM')
        await once(child, 'exit')
      })
      return child
    }
    const first = start()
    const [ready] = (await once(first, 'message')) as [{ readonly url: string }]
    const noted = await readFile(join(dataDir, 'service.json'), 'utf8')

    const second = start()
    let said = ''
    second.stderr?.setEncoding('utf8').on('data', (text: string) => (said += text))
    const [status]: unknown[] = await once(second, 'close')
    expect(status).toBe(1)
    expect(said).toBe(
      `Plumbline cannot start: process ${first.pid} already runs the service on ${dataDir}; ` +
        'to run another beside it, set another DATA_DIR and PORT\n',
    )
    expect(await readFile(join(dataDir, 'service.json'), 'utf8')).toBe(noted)
    expect((await fetch(new URL('/healthz', ready.url))).status).toBe(200)

    first.kill('SIGTERM')
    await once(first, 'exit')
    expect(await readdir(dataDir)).not.toContain('owner.json')
  },
  START_MS,
)
