import { parentPort, workerData } from 'node:worker_threads'
import { loadRangeParts } from './load.ts'
import type { RangePart } from './ranges.ts'
import type { RangeListName } from './source.ts'

/** Message to the worker thread. */
export interface LoadRequest {
  readonly dir: string | null
  readonly names: readonly RangeListName[]
}

/** Its reply, whose arrays are transferred, not copied. */
export type LoadedParts = readonly (readonly RangePart[])[]

const { dir, names }: LoadRequest = workerData
const loaded: LoadedParts = await Promise.all(names.map((name) => loadRangeParts(dir, name)))
parentPort?.postMessage(loaded, loaded.flat().flatMap(columnsOf))

function columnsOf({ v4, v6 }: RangePart): ArrayBuffer[] {
  return [v4, v6]
    .flatMap(({ starts, ends, levels }) => [starts.buffer, ends.buffer, levels.buffer])
    .filter((buffer) => buffer instanceof ArrayBuffer)
}
