/** The code that Node or the system gave an error, for example `ENOENT`; undefined without one. */
export function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error && 'code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}

/** Whether an error has this code. */
export function hasCode(error: unknown, code: string): boolean {
  return codeOf(error) === code
}
