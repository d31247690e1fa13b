import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
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
