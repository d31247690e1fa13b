/** A value loaded from files, and reloaded when they change. */
export interface Followed<T> {
  readonly value: T
  /** Why the last change could not be loaded; null if all is well. */
  readonly fault: string | null
  /**
   * Reloads after a change. If that fails, the old value stays. Content that is malformed is read
   * again after the next change, one that could not be read at each `refresh`.
   */
  refresh(): Promise<void>
}

/**
 * Loads once, then at each `refresh` that finds another stamp. The first load throws what `load`
 * throws; later ones never throw.
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
    const isTried = nowStamp === triedStamp
    triedStamp = nowStamp
    if (nowStamp === readStamp) fault = null
    if (nowStamp === readStamp || isTried) return
    try {
      value = await load()
    } catch (error) {
      if (isUnread(error)) triedStamp = readStamp
      throw error
    }
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

/** Whether the system refused to read (`EACCES`, `EMFILE`): its reason may pass without a change. */
function isUnread(error: unknown): boolean {
  return error instanceof Error && 'code' in error && /^E[A-Z0-9]+$/.test(String(error.code))
}
