import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { RESTORED_FAULTS } from './restored-faults.ts'

const ROOT = join(import.meta.dirname, '..', '..')

test.each(RESTORED_FAULTS.flatMap(({ name, edits }) => edits.map((edit) => ({ name, ...edit }))))(
  '$name still finds the text that it replaces in $file',
  async ({ file, from, to }) => {
    const text = await readFile(join(ROOT, file), 'utf8')
    expect(text).toContain(from)
    expect(text.replaceAll(from, to)).not.toContain(from)
  },
)
