import { Problem } from '@plumbline/contract/problem'

/** The refusal of more attempts than a quarter of an hour allows. */
export function tooManyTries(): Problem {
  return new Problem(
    'too_many_requests',
    'Too many tries; wait a quarter of an hour, or set a new password.',
    { retryAfterSeconds: 900 },
  )
}
