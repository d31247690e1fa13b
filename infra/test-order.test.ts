import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from './run.ts'
import { LONG_FILES } from './test-order.ts'

test('every file that starts early exists', () => {
  expect(LONG_FILES.filter((file) => !existsSync(join(ROOT, file)))).toEqual([])
})
