import { spawnSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createLog } from './log.ts'

test('a logged error shows what happened and none of the values of a statement', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'plumbline-log-'))
  try {
    const path = join(dir, 'log')
    const log = createLog({ name: 'test', destination: openSync(path, 'a') })
    const err = Object.assign(new Error('duplicate key value'), {
      code: '23505',
      detail: 'Key (key)=(ada@example.com) already exists.',
      where: 'COPY memory_entries, line 1: "ada@example.com"',
    })
    log.warn({ err }, 'failed')
    log.child({ part: 'x' }).warn({ err }, 'failed')
    // Lines are written asynchronously, and a flush of a log without buffered lines does not wait
    // for them.
    const written = (): string => readFileSync(path, 'utf8')
    await expect.poll(() => written().match(/duplicate key value/g)?.length).toBeGreaterThan(1)
    const text = written()
    expect(text).toContain('23505')
    expect(text).not.toContain('ada@')
  } finally {
    rmSync(dir, { recursive: true })
  }
})

test('a program whose log is on a full disk goes on, and ends', () => {
  const { status, stderr } = programThatLogs(
    'ulimit -f 0',
    `log.info({}, 'lost')
     await new Promise((resolve) => setTimeout(resolve, 100))
     log.info({}, 'lost')
     log.info({}, 'lost')
     console.error('at work')
     process.exit(0)`,
  )
  expect({ status, stderr }).toEqual({ status: 0, stderr: 'at work\n' })
})

test('all lines of a program arrive in their order, however many are logged at once', () => {
  const { written } = programThatLogs(
    'true',
    `for (let at = 0; at < 2_000; at++) log.info({ at }, 'a line')`,
  )
  const lines = written.trimEnd().split('\n')
  expect(lines.map((line): unknown => JSON.parse(line).at)).toEqual(
    Array.from({ length: 2_000 }, (_, at) => at),
  )
})

/** Runs a program with a log on standard output, a file, in a shell that has run `setting`. */
function programThatLogs(
  setting: string,
  work: string,
): { readonly status: number | null; readonly stderr: string; readonly written: string } {
  const dir = mkdtempSync(join(tmpdir(), 'plumbline-log-'))
  try {
    const path = join(dir, 'log')
    const file = openSync(path, 'w')
    const module = new URL('./log.ts', import.meta.url).href
    const code = `const { createLog } = await import('${module}')
      const log = createLog({ name: 'test' })
      ${work}`
    const { status, stderr } = spawnSync(
      'sh',
      ['-c', `${setting}; exec "$0" --input-type=module --eval "$1"`, process.execPath, code],
      { stdio: ['ignore', file, 'pipe'], encoding: 'utf8', timeout: 20_000 },
    )
    closeSync(file)
    return { status, stderr, written: readFileSync(path, 'utf8') }
  } finally {
    rmSync(dir, { recursive: true })
  }
}
