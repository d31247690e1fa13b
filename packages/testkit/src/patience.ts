/**
 * Times of `vi.waitFor` and `expect.poll` for what must come: how soon it comes is not the test's
 * matter, and on a machine that runs other things the default of one second passes before a process
 * has had its turn.
 */
export const PATIENT = { timeout: 60_000, interval: 20 } as const
