/**
 * Number of earlier attempts whose files are looked for: more attempts than a batch has in a day.
 */
const ATTEMPTS_BEFORE = 50

/** Storage key of a batch's result file; `lease` is the number of the attempt that writes it. */
export function resultKey(batchId: string, lease: number): string {
  return `results/${batchId}-${lease}.csv`
}

/**
 * Storage keys that earlier attempts may have left, killed before the batch referenced their file.
 */
export function resultKeysBefore(batchId: string, lease: number): readonly string[] {
  return Array.from({ length: Math.min(ATTEMPTS_BEFORE, lease - 1) }, (_, at) =>
    resultKey(batchId, lease - 1 - at),
  )
}

/** Every storage key that attempts up to this one may have left, complete or partly written. */
export function resultKeysUpTo(batchId: string, lease: number): readonly string[] {
  return [resultKey(batchId, lease), ...resultKeysBefore(batchId, lease)]
}
