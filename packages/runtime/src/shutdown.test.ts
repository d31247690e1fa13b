import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'

const MARK = 'qzmark'

/** Runs a program whose start ends in a statement; returns its status and all of its output. */
function run(statement: string): { readonly status: number | null; readonly output: string } {
  const urlOf = (file: string): string => JSON.stringify(new URL(file, import.meta.url).href)
  const program = `
    import { createLog } from ${urlOf('./log.ts')}
    import { runUntilStopped } from ${urlOf('./shutdown.ts')}
    const log = createLog({ name: 'test' })
    // As an error of the database has the values of a row, and one of Redis its password.
    const fault = () => Object.assign(new Error('duplicate key'), {
      detail: 'Key (email)=(${MARK})', command: { args: ['${MARK}'] },
    })
    setInterval(() => undefined, 1_000)
    await runUntilStopped({ program: 'test', log, graceMs: 1_000 }, async () => { ${statement} })`
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--input-type=module', '--disable-warning=ExperimentalWarning', '-e', program],
    { encoding: 'utf8', timeout: 30_000 },
  )
  return { status, output: `${stdout}${stderr}` }
}

test.each([
  ['thrown later', 'setImmediate(() => { throw fault() }); await new Promise(() => {})'],
  ['a promise nobody waits for', 'void Promise.reject(fault()); await new Promise(() => {})'],
  ['a failed start', "throw new TypeError('duplicate key', { cause: fault() })"],
  [
    'a failed end',
    "process.kill(process.pid, 'SIGTERM'); return { async [Symbol.asyncDispose]() { throw fault() } }",
  ],
])('an error that nothing has caught is logged without its values: %s', (_, statement) => {
  const { status, output } = run(statement)
  expect(status).toBe(1)
  expect(output).toContain('ended by an error that nothing has caught')
  expect(output).toContain('duplicate key')
  expect(output).not.toContain(MARK)
})
