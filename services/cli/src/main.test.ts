import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync } from 'node:fs'
import { text } from 'node:stream/consumers'
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

test.runIf(existsSync('/dev/full'))('a full disk behind standard output is told', async () => {
  const full = openSync('/dev/full', 'w')
  try {
    const child = spawn(process.execPath, [MAIN, '--help'], { stdio: ['ignore', full, 'pipe'] })
    const said = child.stderr === null ? '' : text(child.stderr)
    expect(await once(child, 'exit')).toEqual([1, null])
    expect(await said).toBe(
      'The output cannot be written: ENOSPC: no space left on device, write.\n',
    )
  } finally {
    closeSync(full)
  }
})
