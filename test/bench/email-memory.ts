import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Engine } from '@plumbline/ports/engine'
import type { Limiter } from '@plumbline/ports/limiter'
import type { Memory } from '@plumbline/ports/memory'
import { addressAt, askAll, openBench } from './email-bench.ts'
import { bounded } from './figure.ts'
import type { Figure } from './figure.ts'

/**
 * (c) Growth of the heap while 100,000 addresses are processed in chunks: the peak, and by how much
 * the peak of the second half exceeds that of the first.
 */
export async function memory(): Promise<readonly Figure[]> {
  const figures: Figure[] = []
  for (const [name, domains] of [
    ['one domain', 1],
    ['50,000 domains', 50_000],
  ] as const) {
    await using bench = await openBench({ bulkDomains: { count: domains, kinds: ['no-tls'] } })
    await using engine = bench.engine({
      limits: { connectionsPerGroup: 10 },
      memory: FORGETFUL,
      limiter: UNLIMITED,
    })
    const [first, second] = await peakHeapsMb(engine, 100_000, domains)
    const head = { backend: 'simnet', unit: 'MB' }
    figures.push(
      bounded({ ...head, name: `email: peak heap, ${name}` }, Math.max(first, second), HEAP_MB),
      bounded(
        { ...head, name: `email: heap growth in the second half, ${name}` },
        second - first,
        GROWTH_MB,
      ),
    )
  }
  return figures
}

/**
 * Limit for 4,000 concurrent subjects, 200 connections and full caches. Measured over 50,000
 * domains: 39 MB, of which 18 MB are caches.
 */
const HEAP_MB = 50
/** Limit: all caches are full before the end of the first half. */
const GROWTH_MB = 3
const CHUNK = 500
const CHUNKS_AT_ONCE = 8

/** A `Memory` that stores nothing, so that only the engine's own heap is measured. */
const FORGETFUL: Memory = {
  get: (keys) => Promise.resolve(keys.map(() => undefined)),
  set: () => Promise.resolve(),
  claim: () => Promise.resolve(true),
  delete: () => Promise.resolve(),
}

/** A `Limiter` without limits or state. */
const UNLIMITED: Limiter = {
  take: () => Promise.resolve({ granted: true }),
  lease: () =>
    Promise.resolve({
      granted: true,
      renew: () => Promise.resolve(true),
      release: () => Promise.resolve(),
    }),
}

/** Peak heap in the first and the second half of the addresses. */
async function peakHeapsMb(
  engine: Engine<'email'>,
  count: number,
  domains: number,
): Promise<readonly [number, number]> {
  const liveBytes = collector()
  const before = liveBytes()
  const peaks: [number, number] = [0, 0]
  let next = 0
  let chunks = 0
  const worker = async (): Promise<void> => {
    for (let from = next; from < count; from = next) {
      next += CHUNK
      const chunk = Array.from({ length: CHUNK }, (_, n) => addressAt(from + n, domains))
      await askAll(engine, chunk)
      if (++chunks % 10 > 0) continue
      const half = next <= count / 2 ? 0 : 1
      peaks[half] = Math.max(peaks[half], (liveBytes() - before) / (1024 * 1024))
    }
  }
  await Promise.all(Array.from({ length: CHUNKS_AT_ONCE }, worker))
  return peaks
}

/** Reads the heap in use after a garbage collection. */
function collector(): () => number {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  if (typeof collect !== 'function') throw new Error('the garbage collector cannot be called')
  return () => {
    collect()
    return process.memoryUsage().heapUsed
  }
}
