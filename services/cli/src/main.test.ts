import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const MAIN = fileURLToPath(new URL('main.ts', import.meta.url))

test('a command whose messages nobody reads any more goes on to its end', async () => {
  const child = spawn(process.execPath, [MAIN, 'batch', 'run'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  child.stderr.destroy()
  // Wrong usage, which is written to standard error; a process that dies of that write has 1.
  expect(await once(child, 'exit')).toEqual([2, null])
})
