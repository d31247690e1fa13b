/**
 * The size of a test that proves a guarantee by repetition: `full` in `npm run soak`, which sets
 * SOAK, otherwise `small`.
 */
export function soakSize(full: number, small: number): number {
  return isSoak() ? full : small
}

/** Whether this run is `npm run soak`. */
export function isSoak(): boolean {
  return process.env['SOAK'] === 'true'
}
