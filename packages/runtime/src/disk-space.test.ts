import { statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { observeDisks } from './disk-space.ts'
import { createMetrics } from './metrics.ts'

test('a folder shows the free space of its disk, and a missing one has no value', async () => {
  const metrics = createMetrics()
  observeDisks(metrics, { data: tmpdir(), files: '/no/such/folder' })
  const text = await metrics.registry.metrics()
  const valueOf = (name: string, folder: string): number | undefined => {
    const line = text.split('\n').find((each) => each.startsWith(`${name}{folder="${folder}"} `))
    return line === undefined ? undefined : Number(line.slice(line.lastIndexOf(' ')))
  }
  const { blocks, bsize } = statfsSync(tmpdir())
  const size = valueOf('disk_size_bytes', 'data')
  const free = valueOf('disk_free_bytes', 'data')
  expect(size).toBe(blocks * bsize)
  expect(free).toBeGreaterThanOrEqual(0)
  expect(free).toBeLessThanOrEqual(blocks * bsize)
  expect(valueOf('disk_size_bytes', 'files')).toBeUndefined()
  expect(valueOf('disk_free_bytes', 'files')).toBeUndefined()
})
