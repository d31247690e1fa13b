/** Keys or sessions that were used; disposing writes those that are not written yet. */
export interface LastUsed extends AsyncDisposable {
  note(id: string): void
}

/** Milliseconds between two writes of the time of last use to the database. */
const WRITE_EVERY_MS = 10_000

/** Makes an empty set; `write` records that these were used now. */
export function createLastUsed(
  write: (ids: readonly string[]) => Promise<void>,
  onError: (error: unknown) => void,
): LastUsed {
  let used = new Set<string>()
  async function writeUsed(): Promise<void> {
    if (used.size === 0) return
    const ids = [...used]
    used = new Set()
    await write(ids).catch(onError)
  }
  const timer = setInterval(() => void writeUsed(), WRITE_EVERY_MS)
  timer.unref()
  return {
    note: (id) => void used.add(id),
    [Symbol.asyncDispose]: async () => {
      clearInterval(timer)
      await writeUsed()
    },
  }
}
