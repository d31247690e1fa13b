/**
 * Runs a step of a program's start. A failure that its operator can mend (a setting, a port that is taken, a
 * server that is not there) ends the process with status 1 and one sentence; a bug is thrown on, with its stack.
 */
export async function startOrExit<T>(program: string, start: () => T | Promise<T>): Promise<T> {
  try {
    return await start()
  } catch (error) {
    const fault = startFault(error)
    if (fault === null) throw error
    process.stderr.write(`${program} cannot start: ${fault}\n`)
    process.exit(1)
  }
}

/** What of a failed start is for the operator's terminal; null for what only a bug throws. */
export function startFault(error: unknown): string | null {
  if (!(error instanceof Error)) return null
  const code = codeOf(error)
  if (code === undefined && BUGS.some((kind) => error instanceof kind)) return null
  const [first] = error instanceof AggregateError ? error.errors : []
  const said = error.message !== '' ? error.message : first instanceof Error ? first.message : code
  return said ?? error.name
}

const BUGS = [TypeError, RangeError, ReferenceError, SyntaxError] as const

/** System errors and those of Node's own modules carry one, whatever their class. */
function codeOf(error: Error): string | undefined {
  return 'code' in error && typeof error.code === 'string' ? error.code : undefined
}
