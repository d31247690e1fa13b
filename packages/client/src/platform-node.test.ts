import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { openPath } from './platform-node.ts'

test('a file of this machine is opened when its bytes are read, each time anew', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'plumbline-client-'))
  try {
    const path = join(dir, 'list.csv')
    await writeFile(path, 'email\n')
    const file = await openPath(path)
    expect(await text(file.bytes())).toBe('email\n')
    expect(await text(file.bytes())).toBe('email\n')
    await rm(path)
    // A call that is tried again, and whose connection takes its time.
    const bytes = file.bytes()
    for (const _ of [1, 2, 3, 4]) await stat(path).catch(() => undefined)
    await expect(text(bytes)).rejects.toThrow('ENOENT')
    await expect(openPath(path)).rejects.toThrow('ENOENT')
    await expect(openPath(dir)).rejects.toThrow('is not a file')
  } finally {
    await rm(dir, { recursive: true })
  }
})
