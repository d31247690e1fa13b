import { parentPort, workerData } from 'node:worker_threads'
import { loadRangeParts } from './load.ts'
import type { RangePart } from './ranges.ts'
import type { RangeListName } from './source.ts'

/** What the worker is asked for. */
export interface LoadOrder {
  readonly dir: string | null
  readonly names: readonly RangeListName[]
}

/** What it sends back, the columns moved rather than copied. */
export type LoadedParts = readonly (readonly RangePart[])[]

const { dir, names }: LoadOrder = workerData
const loaded: LoadedParts = await Promise.all(names.map((name) => loadRangeParts(dir, name)))
parentPort?.postMessage(loaded, loaded.flat().flatMap(columnsOf))

function columnsOf({ v4, v6 }: RangePart): ArrayBuffer[] {
  return [v4, v6]
    .flatMap(({ starts, ends, levels }) => [starts.buffer, ends.buffer, levels.buffer])
    .filter((buffer) => buffer instanceof ArrayBuffer)
}
