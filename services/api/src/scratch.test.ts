import { mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { keepSwept } from './scratch.ts'

test('what a killed API left of an upload goes when one starts; what is being written stays', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'plumbline-scratch-'))
  try {
    const old = new Date(Date.now() - 7 * 3_600_000)
    for (const name of ['upload-old', 'records-old', 'upload-young', 'notes']) {
      await writeFile(join(dir, name), 'x')
      if (name !== 'upload-young') await utimes(join(dir, name), old, old)
    }
    const faults: unknown[] = []
    const scratch = keepSwept(dir, (error) => faults.push(error))
    await scratch[Symbol.asyncDispose]()
    expect((await readdir(dir)).toSorted()).toEqual(['notes', 'upload-young'])
    expect(faults).toEqual([])
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
})
