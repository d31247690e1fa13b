import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { supervise } from './children.ts'

const SERVICES = fileURLToPath(new URL('../..', import.meta.url))
const PATIENT = { timeout: 30_000 }

test('a program that the system cannot start again for a while is started once it can', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'plumbline-children-'))
  try {
    const main = join(dir, 'main.mjs')
    await writeFile(main, `process.send({ ready: true }); setInterval(() => undefined, 1_000)\n`)
    const said: string[] = []
    const note = (_fields: object, text: string): void => void said.push(text)
    let starts = 0
    const program = { main: relative(SERVICES, main), args: [], heapMegabytes: 64 } as const
    await using supervised = supervise(
      { name: 'worker', ...program },
      {
        get env() {
          starts += 1
          // Too long for the system, which then starts nothing, as when it has no memory left.
          return starts === 2 ? { LONG: 'x'.repeat(8 * 1_048_576) } : {}
        },
        log: { debug: note, info: note, warn: note, error: note },
        graceMs: 5_000,
      },
    )
    await supervised.ready
    const { pid: first } = supervised
    process.kill(first ?? 0, 'SIGKILL')
    await expect.poll(() => starts, PATIENT).toBe(3)
    expect(supervised.pid).not.toBe(first)
    expect(said).toEqual([
      'program ended; starting it again',
      'program cannot be started; trying again',
    ])
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
})
