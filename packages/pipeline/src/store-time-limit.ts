import { withTimeOut } from '@plumbline/concurrency/time-out'

/**
 * Maximum milliseconds of a call to the file store: less than the minute in which no sweep removes
 * a caller's files, so that a store that stalls delays no request, stage or sweep for long.
 */
const STORE_LIMIT_MS = 10_000

/**
 * The result of a call to the file store; the call itself continues after the limit.
 *
 * @throws TimeOutError after ten seconds
 */
export async function withinStoreLimit<T>(asked: Promise<T>): Promise<T> {
  return await withTimeOut(STORE_LIMIT_MS, asked, 'the file store did not reply')
}
