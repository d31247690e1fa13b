import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempDisposable, readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openBrowser } from '@plumbline/testkit/api/browser'
import type { ApiResponse, CallInit } from '@plumbline/testkit/api/harness'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { processEnvironment } from '@plumbline/runtime/settings'
import { expect, test } from 'vitest'
import { ROOT } from '../../infra/run.ts'

const TIME_MS = 300_000
const CTRL_C = '\u0003'

/** A command on a terminal of its own. */
interface Screen extends AsyncDisposable {
  /** Resolves with all output once it contains the pattern. */
  until(pattern: RegExp): Promise<string>
  press(keys: string): void
  /** The exit status. */
  ended(): Promise<number | null>
}

/** `script` of util-linux gives it a pseudo-terminal, as a shell in a window has one. */
function openScreen(words: readonly string[], env: Readonly<Record<string, string>>): Screen {
  const quoted = words.map((word) => `'${word}'`).join(' ')
  const child = spawn('script', ['-qec', quoted, '/dev/null'], {
    cwd: ROOT,
    env: { ...processEnvironment(), ...env, SHELL: '/bin/sh', TERM: 'xterm', COLUMNS: '120' },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const exited = once(child, 'close')
  let shown = ''
  let look: () => void = () => {}
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text
    look()
  })
  return {
    until: (pattern) =>
      new Promise((resolve, reject) => {
        look = () => {
          if (pattern.test(shown)) resolve(shown)
        }
        look()
        child.once('close', () =>
          reject(new Error(`it ended; it had shown ${shown.slice(-2_000)}`)),
        )
      }),
    press: (keys) => void child.stdin.write(keys),
    ended: async () => {
      await exited
      return child.exitCode
    },
    [Symbol.asyncDispose]: async () => {
      // Closing the terminal ends the program.
      if (child.exitCode === null) child.kill('SIGHUP')
      await exited
    },
  }
}

/** Whether nothing listens at an address. */
async function isGone(url: string): Promise<boolean> {
  return await fetch(url).then(
    () => false,
    () => true,
  )
}

test.skipIf(process.platform !== 'linux')(
  'npm start shows on a terminal the link that opens the first account, and ctrl-C ends it',
  async () => {
    await using stack = new AsyncDisposableStack()
    const database = stack.use(await createTestDatabase())
    const dataDir = stack.use(await mkdtempDisposable(join(tmpdir(), 'plumbline-terminal-'))).path
    const screen = stack.use(
      openScreen(['npm', 'start'], {
        DATABASE_URL: database.url,
        DATA_DIR: dataDir,
        REDIS_URL: '',
        PORT: '0',
        ADMIN_PORT: '0',
        DRAIN_SECONDS: '1',
      }),
    )
    const shown = await screen.until(/\/app\/welcome#\w{40}\W/)
    expect(shown).toMatch(/live key: svc_live_\w+/)
    // On a terminal, no line of the programs is JSON.
    expect(shown.split('\n').filter((line) => line.startsWith('{'))).toEqual([])
    const [, base = '', code = ''] =
      /(http:\/\/127\.0\.0\.1:\d+)\/app\/welcome#(\w{40})/.exec(shown) ?? []
    // As a browser does when it opens the link.
    const page = await fetch(`${base}/app/welcome`)
    expect([page.status, page.headers.get('content-type')]).toEqual([
      200,
      expect.stringContaining('text/html'),
    ])
    const browser = openBrowser({ call: (path, init) => callOf(base, path, init) })
    const password = 'tidal lantern cactus seven'
    const form = { code, email: 'ada@one.example', password }
    expect((await browser.app('welcome', form)).status).toBe(200)
    const { json: answer } = await browser.app('readSession')
    expect(answer.user?.email).toBe('ada@one.example')

    screen.press(CTRL_C)
    await screen.ended()
    expect(await isGone(`${base}/healthz`)).toBe(true)
    // A regular end removes the file with the service's address.
    const left = await readdir(dataDir)
    expect(left.filter((name) => name.endsWith('.json'))).toEqual([])
  },
  TIME_MS,
)

test.skipIf(process.platform !== 'linux')(
  'the demo serves on a terminal until ctrl-C',
  async () => {
    await using screen = openScreen(['npm', 'run', 'demo', '--', '50'], {})
    const shown = await screen.until(/The service runs until ctrl-C/)
    const [, base = ''] =
      /in the app: (http:\/\/[^/]+)\/app\/welcome\?next=\S+#\w{40}/.exec(shown) ?? []
    expect((await fetch(`${base}/healthz`)).status).toBe(200)
    screen.press(CTRL_C)
    await screen.ended()
    expect(await isGone(`${base}/healthz`)).toBe(true)
  },
  TIME_MS,
)

async function callOf(base: string, path: string, init: CallInit = {}): Promise<ApiResponse> {
  const { method = 'GET', body, headers = {} } = init
  const response = await fetch(`${base}${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  const json: unknown = text === '' ? undefined : JSON.parse(text)
  return { status: response.status, headers: response.headers, text, json }
}
