/** Thrown when a time-out has passed. */
export class TimeOutError extends Error {
  override readonly name = 'TimeOutError'
}

/**
 * The promise's value; the underlying work continues after a time-out.
 *
 * @throws TimeOutError after `limitMs`
 */
export async function withTimeOut<T>(
  limitMs: number,
  promise: PromiseLike<T>,
  message = `no answer in ${limitMs} ms`,
): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new TimeOutError(message)), limitMs)
  try {
    return await Promise.race([promise, late.promise])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Waits for the promise, at most for the limit, and tells whether it has its value by then; the
 * underlying work continues after a time-out. Rejects as the promise does.
 */
export async function settledWithin(
  limitMs: number,
  promise: PromiseLike<unknown>,
): Promise<boolean> {
  const late = Promise.withResolvers<false>()
  const timer = setTimeout(() => late.resolve(false), limitMs)
  try {
    return await Promise.race([promise.then(() => true), late.promise])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * The promise's value, or `fallback` once the signal aborts, whichever is first; leaves no listener
 * behind.
 */
export async function orOnAbort<T, F>(
  promise: PromiseLike<T>,
  signal: AbortSignal,
  fallback: F,
): Promise<T | F> {
  const ended = Promise.withResolvers<F>()
  const onAbort = (): void => ended.resolve(fallback)
  signal.addEventListener('abort', onAbort, { once: true })
  if (signal.aborted) onAbort()
  try {
    return await Promise.race([promise, ended.promise])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
