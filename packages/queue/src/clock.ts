/** The clock of the server that all processes share; computers' own clocks may differ. */
export interface ServerClock {
  /** Milliseconds of the epoch. */
  nowMs(): number
  /** Asks the server again; throws when it does not answer. */
  adjust(): Promise<void>
}

/** Reads the clock once; `nowMs` goes on from there by the computer's own steady clock. */
export async function openServerClock(readMs: () => Promise<number>): Promise<ServerClock> {
  let offsetMs = 0
  async function adjust(): Promise<void> {
    const before = performance.now()
    const serverMs = await readMs()
    offsetMs = serverMs - (before + performance.now()) / 2
  }
  await adjust()
  return { nowMs: () => performance.now() + offsetMs, adjust }
}
