import { Problem } from '@plumbline/contract/problem'
import { insufficientCredits } from './access.ts'
import type { RequestContext } from './request-context.ts'

/** Bytes of a body that are read of an account without credits before it says that it is a dry run. */
const HEAD_BYTES = 512 * 1_024

/** Judges a body as it comes: without credits only a dry run (`start=false`) goes on (decision 9). */
export interface DryRunGuard {
  /** How much of a body of at most `limitBytes` may be read by now. */
  within(limitBytes: number): number
  /**
   * The file or the records begin, and `start` is what was said before them.
   * @throws Problem `payment_required`
   */
  begin(start: unknown): void
  /** The refusal in place of one that an account without credits is not told, as it has not got so far. */
  refusalOf(error: unknown): unknown
}

/** Makes the guard of one request. */
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
    refusalOf: (error) =>
      !passed && error instanceof Problem && error.status < 500 ? insufficientCredits() : error,
  }
}
