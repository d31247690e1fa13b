import { codeOf } from './error-code.ts'

/**
 * Runs a step of a program's start. A failure that the operator can fix (a setting, a port in use,
 * an unreachable server) ends the process with status 1 and one sentence; a bug is rethrown, with
 * its stack.
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

/**
 * The message of a failed start for the operator, with its causes; null for an error that only a
 * bug throws.
 */
export function startFault(error: unknown): string | null {
  if (!(error instanceof Error)) return null
  // Errors of the system and of Node's modules have a code, whatever their class.
  if (codeOf(error) === undefined && BUGS.some((kind) => error instanceof kind)) return null
  const said: string[] = []
  for (let at: unknown = error; at instanceof Error && said.length < DEPTH; at = below(at)) {
    const words = at.message !== '' ? at.message : codeOf(at)
    if (words !== undefined) said.push(words)
  }
  return said.length === 0 ? error.name : said.join(': ')
}

/** Maximum number of causes in the message. */
const DEPTH = 3

function below(error: Error): unknown {
  return error instanceof AggregateError ? error.errors[0] : error.cause
}

const BUGS = [TypeError, RangeError, ReferenceError, SyntaxError] as const
