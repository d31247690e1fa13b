import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const DEMO = fileURLToPath(new URL('../demo/main.ts', import.meta.url))

test('the demo enriches its whole list over real sockets and ends with status 0', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [DEMO], { timeout: 150_000 })
  expect(stdout).toMatch(/2000 rows in \d+\.\d s/)
  expect(stdout).toMatch(/credits used/)
  expect(stdout).toMatch(/The result file: .+contacts-result\.csv/)
})
