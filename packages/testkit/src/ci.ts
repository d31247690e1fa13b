/** Whether this run is CI's: what it needs must be there, and nothing is left out. */
export function isCi(): boolean {
  return process.env['CI'] === 'true'
}
