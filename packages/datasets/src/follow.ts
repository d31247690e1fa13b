/** Something read from files, read again when they change. */
export interface Followed<T> {
  readonly value: T
  /** Why the last change could not be read; null if all is well. */
  readonly fault: string | null
  /** Looks for a change. What cannot be read leaves the value as it was, and is tried again with the next change. */
  refresh(): Promise<void>
}

/**
 * Reads once, then at each `refresh` that finds another stamp. The first reading throws what `load` throws;
 * later ones never throw.
 */
export async function follow<T>(
  stamp: () => Promise<string>,
  load: () => Promise<T>,
): Promise<Followed<T>> {
  let readStamp = await stamp()
  let triedStamp = readStamp
  let value = await load()
  let fault: string | null = null
  const change = async (): Promise<void> => {
    const nowStamp = await stamp()
    const broken = fault !== null && nowStamp !== readStamp
    if (nowStamp === triedStamp && (fault === null || broken)) return
    triedStamp = nowStamp
    if (nowStamp !== readStamp) value = await load()
    readStamp = nowStamp
    fault = null
  }
  return {
    get value() {
      return value
    },
    get fault() {
      return fault
    },
    async refresh() {
      try {
        await change()
      } catch (error) {
        fault = error instanceof Error ? error.message : String(error)
      }
    },
  }
}
