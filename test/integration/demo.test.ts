import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const DEMO = fileURLToPath(new URL('../demo/main.ts', import.meta.url))
const CONTACTS = new URL('../demo/contacts.csv', import.meta.url)
/** Two chunks of the demo; a row takes 25 ms of processor time, whether it is the first or the last. */
const ROWS = 200
/**
 * Time limit of the demo: shorter than that of the test, so that the output is shown; on a loaded machine
 * the demo takes three times as long.
 */
const TIME_MS = 380_000

/** Settings of a service on the same machine, with any of which that of the demo would not start or end. */
const SETTINGS = {
  DATABASE_DIRECT_URL: 'postgres://127.0.0.1:1/none',
  FILES_URL: 's3://none/files',
  SMTP_PROXY_URL: 'socks5://127.0.0.1:1',
  PORT: '1',
  WORKER_ADMIN_PORT: '1',
}

test('the demo enriches its whole batch over real sockets and ends with status 0, whatever the settings', async () => {
  const { fault, stdout, stderr } = await runDemo()
  // Its last output shows where it stopped.
  expect({ fault, stdout: stdout.slice(-2_000), stderr: stderr.slice(-2_000) }).toMatchObject({
    fault: null,
  })
  expect(stdout).toMatch(new RegExp(`${ROWS} rows in \\d+\\.\\d s`))
  expect(stdout).toMatch(/credits used/)
  expect(stdout).toMatch(/The result file: .+contacts-result\.csv/)
  // Its service ends with it, as there is no terminal: a link to it would be dead.
  expect(stdout).not.toContain('in the app')
})

test('the file of the demo has 2,000 contacts', async () => {
  const [, ...contacts] = (await readFile(CONTACTS, 'utf8')).trimEnd().split('\n')
  expect(contacts).toHaveLength(2_000)
})

interface DemoRun {
  readonly fault: string | null
  readonly stdout: string
  readonly stderr: string
}

async function runDemo(): Promise<DemoRun> {
  try {
    const said = await promisify(execFile)(process.execPath, [DEMO, String(ROWS)], {
      timeout: TIME_MS,
      env: { ...process.env, ...SETTINGS },
    })
    return { fault: null, ...said }
  } catch (error) {
    // Safe because errors of `execFile` have both.
    const { message, stdout, stderr } = error as Error & DemoRun
    return { fault: message, stdout, stderr }
  }
}
