import { expect, test } from 'vitest'
import { pumped, slowdown } from '@plumbline/testkit/hostile-text'
import { readDomain, readEmail, readPhone } from './subject.ts'

const CELL_CHARS = 8_192
const CELLS = 40

test.each(['.', '+1', '1.', '="', '=', '//', 'http://', 'a.', '@', '(0)', ' 1', '-', '\u00a0'])(
  'cells of "%s" take time linear in their length',
  (piece) => {
    const read = (cell: string): void => {
      for (let at = 0; at < CELLS; at++) {
        readDomain(cell)
        readEmail(cell)
        readPhone(cell, 'GB')
      }
    }
    const hostile = `${pumped(piece, CELL_CHARS - 1)}!`
    expect(slowdown(read, hostile, pumped('word ', CELL_CHARS))).toBeLessThan(60)
  },
)
