/**
 * Options of `vi.waitFor` and `expect.poll` for events that must happen: how soon is not what these
 * tests check, and on a busy machine the default of one second is too short.
 */
export const PATIENT = { timeout: 60_000, interval: 20 } as const
