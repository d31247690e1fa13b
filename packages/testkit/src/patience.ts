/**
 * Options of `vi.waitFor` and `expect.poll` for events that must happen, in milliseconds: these tests do
 * not check how soon, and on a loaded machine the default of one second is too short. Shorter intervals
 * take processor time from the test files that run concurrently.
 */
export const PATIENT = { timeout: 60_000, interval: 60 } as const

/** As `PATIENT`, for a state that ends by itself: a longer interval could miss it. */
export const BEFORE_IT_ENDS = { ...PATIENT, interval: 20 } as const

/** Times of a question to a worker whose answer the test waits for. */
export const PATIENT_LIMITS = { waitMs: 15_000, budgetMs: 12_000 } as const
