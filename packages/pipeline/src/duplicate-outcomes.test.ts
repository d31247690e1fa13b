import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openDuplicateOutcomes } from './duplicate-outcomes.ts'

const record = (address: string): never => ({ outcomes: { email: { address } } }) as never

test('stored outcomes of a row are found, whatever was stored since, and those of others are not', () => {
  const dir = mkdtempSync(join(tmpdir(), 'plumbline-duplicates-'))
  try {
    const bits = Buffer.alloc(200)
    const rows = [0, 7, 8, 600, 1_599]
    for (const row of rows) bits.writeUInt8((bits[row >> 3] ?? 0) | (1 << (row & 7)), row >> 3)
    using duplicates = openDuplicateOutcomes(bits, dir)
    // More than is held in memory.
    for (const row of rows) duplicates.keep(row, record(`${row}${'x'.repeat(100_000)}@a.example`))
    for (const row of rows) {
      expect(duplicates.find(row)).toEqual(record(`${row}${'x'.repeat(100_000)}@a.example`))
    }
    expect([duplicates.isDuplicated(1), duplicates.has(1), duplicates.find(1)]).toEqual([
      false,
      false,
      undefined,
    ])
  } finally {
    rmSync(dir, { recursive: true })
  }
})

test('a disk that accepts only a part of a write is an error', () => {
  const dir = mkdtempSync(join(tmpdir(), 'plumbline-duplicates-'))
  const keepOne = `
    import { openDuplicateOutcomes } from ${JSON.stringify(new URL('./duplicate-outcomes.ts', import.meta.url).href)}
    using duplicates = openDuplicateOutcomes(Buffer.from([1]), ${JSON.stringify(dir)})
    duplicates.keep(0, { outcomes: {}, failed: false, long: 'x'.repeat(300_000) })`
  try {
    const child = spawnSync(
      'sh',
      ['-c', 'ulimit -f 100 && exec "$0" --input-type=module -e "$1"', process.execPath, keepOne],
      { encoding: 'utf8' },
    )
    expect(child.stderr).toContain('EFBIG')
  } finally {
    rmSync(dir, { recursive: true })
  }
})
