/** Names of result files that attempts before may have left: more of them than a batch is tried in a day. */
const ATTEMPTS_BEFORE = 50

/** The name of a batch's result file as one attempt writes it; `lease` is the number of the attempt. */
export function resultKey(batchId: string, lease: number): string {
  return `results/${batchId}-${lease}.csv`
}

/** The names under which attempts before this one may have left a result file, killed before it was named. */
export function resultKeysBefore(batchId: string, lease: number): readonly string[] {
  return Array.from({ length: Math.min(ATTEMPTS_BEFORE, lease - 1) }, (_, at) =>
    resultKey(batchId, lease - 1 - at),
  )
}

/** Every name under which an attempt up to this one may have left a result file of a batch, or a part of one. */
export function resultKeysUpTo(batchId: string, lease: number): readonly string[] {
  return [resultKey(batchId, lease), ...resultKeysBefore(batchId, lease)]
}
