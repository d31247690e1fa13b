/** Whether this run is in CI: all optional programs must be installed, and no test is skipped. */
export function isCi(): boolean {
  return process.env['CI'] === 'true'
}
