import { Problem, type ProblemCode } from '@plumbline/contract/problem'
import { insufficientCredits } from './access.ts'
import type { RequestContext } from './request-context.ts'

/**
 * Bytes of a body that are read for an account without credits before the body says that it is a
 * dry run.
 */
const HEAD_BYTES = 512 * 1_024

/** Refusals of the caller, who is judged before the balance. */
const OF_CALLER: readonly ProblemCode[] = ['unauthorized', 'forbidden']

/**
 * Refuses the body of an account without credits while it is read, unless it is a dry run
 * (`start=false`, decision 9).
 */
export interface DryRunGuard {
  /** Bytes of a body of at most `limitBytes` that may be read so far. */
  within(limitBytes: number): number
  /**
   * Called where the file or the records begin, with the field `start` if it came before.
   *
   * @throws Problem `payment_required`
   */
  begin(start: unknown): void
  /**
   * The error to respond with: 402 in place of errors that are found only after an account without
   * credits is refused.
   */
  refusalOf(error: unknown): unknown
}

/** Makes the guard of one request; a repeat passes it without credits. */
export function createDryRunGuard(
  context: Pick<RequestContext, 'lacksCredits' | 'isRepeat'>,
): DryRunGuard {
  let passed = !context.lacksCredits || context.isRepeat
  return {
    within: (limitBytes) => (passed ? limitBytes : Math.min(limitBytes, HEAD_BYTES)),
    begin: (start) => {
      if (!passed && start !== false && start !== 'false') throw insufficientCredits()
      passed = true
    },
    refusalOf: (error) => {
      if (passed || !(error instanceof Problem) || error.status >= 500) return error
      return OF_CALLER.includes(error.code) ? error : insufficientCredits()
    },
  }
}
