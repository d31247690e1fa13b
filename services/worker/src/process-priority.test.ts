import { spawnSync } from 'node:child_process'
import { getPriority } from 'node:os'
import { expect, test } from 'vitest'

const MODULE = new URL('./process-priority.ts', import.meta.url).href

test.for([
  { kinds: ['batch'], least: 5 },
  { kinds: ['email', 'batch'], least: -20 },
  { kinds: ['ip'], least: -20 },
])('a worker of $kinds has a nice value of at least $least', ({ kinds, least }) => {
  const { stdout } = spawnSync(process.execPath, [
    '--input-type=module',
    '--eval',
    `import { getPriority } from 'node:os'
     const { yieldToCalls } = await import(${JSON.stringify(MODULE)})
     yieldToCalls(${JSON.stringify(kinds)})
     console.log(getPriority())`,
  ])
  expect(Number(String(stdout))).toBe(Math.max(getPriority(), least))
})
