import { RefusedError } from '@plumbline/client/refused'
import { Problem } from '@plumbline/contract/problem'
import { SettingsError } from '@plumbline/runtime/settings'
import { foreignText } from './foreign-text.ts'
import { Interrupted, Refusal, UsageError } from './refusal.ts'

/** The message and the exit status of a failed command. */
export interface Failure {
  readonly message: string
  /** Exit status: 1 failed, 2 wrong usage, 130 interrupted. */
  readonly status: number
}

/** The failure of any error, in one sentence; an unexpected error keeps its own message. */
export function failureOf(error: unknown): Failure {
  const { message, status } = toldBy(error)
  return { message: foreignText(message), status }
}

function toldBy(error: unknown): Failure {
  if (error instanceof UsageError) return { message: error.message, status: 2 }
  if (error instanceof Interrupted) return { message: error.message, status: 130 }
  if (error instanceof RefusedError) {
    const id = error.requestId === undefined ? '' : ` (request ${error.requestId})`
    return { message: `${error.message}${id}`, status: 1 }
  }
  if (error instanceof Refusal || error instanceof Problem || error instanceof SettingsError) {
    return { message: error.message, status: 1 }
  }
  if (error instanceof Error && error.name === 'AbortError') {
    return { message: 'Interrupted.', status: 130 }
  }
  const socket = socketFault(error)
  if (socket !== undefined)
    return { message: `The service cannot be reached: ${socket}.`, status: 1 }
  const message = error instanceof Error ? error.message || error.name : String(error)
  return { message, status: 1 }
}

/** Codes of writing to a file that is open already: without space, over a quota or limit, broken. */
const OF_DISKS: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG', 'EROFS', 'EIO'])

/**
 * Why a connection failed, found below the errors that fetch and the database driver wrap around
 * it; undefined for other failures.
 */
export function socketFault(error: unknown): string | undefined {
  let fetchFault: string | undefined
  for (let at = error, depth = 0; at instanceof Error && depth < 5; depth++) {
    // Failures of files have codes like those of sockets, and name their path if they had to open it.
    if ('path' in at) return undefined
    if ('code' in at && OF_DISKS.has(at.code)) return undefined
    if ('code' in at && typeof at.code === 'string' && /^(?:E|UND_ERR)[A-Z_]+$/.test(at.code)) {
      return at.message === '' ? at.code : at.message
    }
    if (at.name === 'TimeoutError') return 'no answer in time'
    if (isFetchFault(at)) fetchFault = causeOf(at)
    at = at instanceof AggregateError ? at.errors[0] : at.cause
  }
  return fetchFault
}

/** Every failure of fetch is a `TypeError` of one message, with the reason in its cause. */
function isFetchFault(error: Error): boolean {
  return error instanceof TypeError && error.message === 'fetch failed'
}

function causeOf({ cause, message }: Error): string {
  return cause instanceof Error && cause.message !== '' ? cause.message : message
}
