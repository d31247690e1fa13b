import { codeOf } from './error-code.ts'

/** An error as it is written to the log. */
export interface LoggedError {
  readonly type: string
  readonly message: string
  readonly code: string | undefined
  readonly stack: string | undefined
  readonly cause: LoggedError | undefined
}

/** Maximum number of causes that are followed. */
const DEPTH = 4

/**
 * The parts of an error that may be logged. Its other fields may hold values of a statement or a
 * body, as `detail` of a database error does.
 */
export function faultOf(error: unknown): LoggedError {
  return shown(error, DEPTH)
}

function shown(error: unknown, depth: number): LoggedError {
  if (!(error instanceof Error)) {
    return { type: typeof error, message: 'not an error', ...NOTHING }
  }
  return {
    type: error.name,
    message: error.message,
    code: codeOf(error),
    stack: error.stack,
    cause: error.cause === undefined || depth === 0 ? undefined : shown(error.cause, depth - 1),
  }
}

const NOTHING = { code: undefined, stack: undefined, cause: undefined }
