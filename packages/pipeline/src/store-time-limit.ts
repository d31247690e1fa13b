import { withTimeOut } from '@plumbline/concurrency/time-out'

/**
 * Milliseconds that a call to the file store may take: less than the minute in which no sweep
 * removes what a caller removes, so that a store that stalls keeps no request, stage or sweep
 * waiting for long.
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
