import { createScorer } from '@plumbline/scoring/score'
import { packagedWeights } from '@plumbline/scoring/weights'
import { expect, test } from 'vitest'
import { htmlOf } from './docs-text.ts'
import { testKeysText } from './test-key-reference.ts'

test('writes headings, tables, code and paragraphs, and everything else as text', () => {
  expect(htmlOf('Say `a < b` & <b>.\n\n### one\n\n| x | y |\n|---|---|\n| `1` |  |')).toBe(
    [
      '<p>Say <code>a &lt; b</code> &amp; &lt;b&gt;.</p>',
      '<h3>one</h3>',
      '<div class="wide"><table><thead><tr><th>x</th><th>y</th></tr></thead><tbody><tr><td><code>1</code></td><td></td></tr></tbody></table></div>',
    ].join('\n'),
  )
})

test('each row of the test key values has a cell for each heading', () => {
  const page = htmlOf(testKeysText(createScorer(packagedWeights())))
  const tables = page.match(/<table>.*?<\/table>/gs) ?? []
  expect(tables).toHaveLength(4)
  for (const table of tables) {
    const headings = table.match(/<th>/g)?.length
    for (const [row] of table.matchAll(/<tr><td>.*<\/tr>/g)) {
      expect(row.match(/<td>/g)).toHaveLength(headings ?? 0)
    }
  }
})
