import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { alignRows, type AlignedRow } from './align-rows.ts'

async function* inPages(rows: readonly string[], size: number): AsyncGenerator<readonly string[]> {
  for (let at = 0; at < rows.length; at += size) yield rows.slice(at, at + size)
}

async function aligned(
  left: readonly string[],
  right: readonly string[],
): Promise<readonly AlignedRow<string>[]> {
  const rows: AlignedRow<string>[] = []
  const pages = [inPages(left, 7), inPages(right, 11)] as const
  for await (const row of alignRows(...pages, (key) => key)) rows.push(row)
  return rows
}

function shown(rows: readonly AlignedRow<string>[]): string {
  return rows
    .map((row) => {
      if (row.kind === 'both') return row.left
      return row.kind === 'left' ? `-${row.left}` : `+${row.right}`
    })
    .join(' ')
}

describe('rows of two lists', () => {
  test.each([
    ['a b c', 'a b c', 'a b c'],
    ['a b c', 'a c', 'a -b c'],
    ['a c', 'a b c', 'a +b c'],
    ['a b c', 'a x c', 'a -b +x c'],
    ['a a b', 'a b', 'a -a b'],
    ['', 'a b', '+a +b'],
    ['a b', '', '-a -b'],
    ['a b c d', 'c d a b', '-a -b c d +a +b'],
  ])('%s and %s are %s', async (left, right, expected) => {
    const words = (text: string): string[] => text.split(' ').filter((word) => word !== '')
    expect(shown(await aligned(words(left), words(right)))).toBe(expected)
  })

  test('are all returned once and in order, whatever they contain', async () => {
    const list = fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'e'), { maxLength: 40 })
    await fc.assert(
      fc.asyncProperty(list, list, async (left, right) => {
        const rows = await aligned(left, right)
        expect(rows.flatMap((row) => (row.kind === 'right' ? [] : [row.left]))).toEqual(left)
        expect(rows.flatMap((row) => (row.kind === 'left' ? [] : [row.right]))).toEqual(right)
        for (const row of rows) if (row.kind === 'both') expect(row.left).toBe(row.right)
      }),
    )
  })
})
