/** The server's clock, used by all processes, since clocks of machines differ. */
export interface ServerClock {
  /** Milliseconds since the Unix epoch. */
  nowMs(): number
  /** Reads the server's clock again; throws if it does not reply. */
  adjust(): Promise<void>
}

/** Reads the clock once; `nowMs` continues from there with the process's monotonic clock. */
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
