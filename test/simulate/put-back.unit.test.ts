import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { PUT_BACK } from './put-back.ts'

const ROOT = join(import.meta.dirname, '..', '..')

test.each(PUT_BACK.flatMap(({ name, edits }) => edits.map((edit) => ({ name, ...edit }))))(
  '$name still finds the text that it replaces in $file',
  async ({ file, from, to }) => {
    const text = await readFile(join(ROOT, file), 'utf8')
    expect(text).toContain(from)
    expect(text.replaceAll(from, to)).not.toContain(from)
  },
)
