import { setTimeout as wait } from 'node:timers/promises'

/**
 * Minimum duration in milliseconds of calls whose duration could reveal whether an address is
 * known.
 */
const EVEN_MS = 400

/** Resolves or rejects no sooner than after a fixed time. */
export async function evenly<T>(work: () => Promise<T>): Promise<T> {
  const even = wait(EVEN_MS)
  try {
    return await work()
  } finally {
    await even
  }
}

/** Rejects no sooner than after a fixed time; success need not wait. */
export async function refuseEvenly<T>(work: () => Promise<T>): Promise<T> {
  const even = wait(EVEN_MS)
  try {
    return await work()
  } catch (error) {
    await even
    throw error
  }
}
