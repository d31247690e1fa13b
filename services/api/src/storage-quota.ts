import { noSpaceLeft } from '@plumbline/pipeline/submit'

/** Limits the bytes of an account's files: stored ones, and those this process is receiving. */
export interface StorageQuota {
  /** Starts a file of an account; disposing of it releases the bytes that were not stored. */
  open(accountId: string): IncomingFile
}

/** A file that is being received. */
export interface IncomingFile extends Disposable {
  /**
   * Counts bytes before they are written.
   *
   * @throws Problem `payload_too_large` if the account's files would exceed its quota
   */
  take(bytes: number): Promise<void>
  /** Moves the file's bytes from those being received to those in the store. */
  stored(): void
}

/** Bytes of an account, tracked while it sends files and for a while after. */
interface Usage {
  incomingBytes: number
  storedBytes: number
  /** When the stored bytes were last read; undefined if never. */
  readAt: number | undefined
  reading: Promise<void> | undefined
  files: number
}

/**
 * Milliseconds; before a file is refused, older values are read again: batches may have been
 * deleted.
 */
const FRESH_MS = 1_000

/**
 * Milliseconds for which stored bytes are cached, so that an account that sends many small files
 * does not cause a read for each. What other processes stored meanwhile is counted exactly when the
 * batch is inserted.
 */
const KEPT_MS = 10_000
/** Cached accounts that send nothing; the one idle for longest is evicted first. */
const IDLE_ACCOUNTS = 1_000

/**
 * Makes a quota of `limitBytes` for each account; `read` reads the bytes of its files in the store.
 */
export function createStorageQuota(
  limitBytes: number,
  read: (accountId: string) => Promise<number>,
  now: () => number = () => performance.now(),
): StorageQuota {
  const accounts = new Map<string, Usage>()
  /** Accounts that send nothing, in the order in which their last file ended. */
  const idle = new Set<string>()

  async function refresh(accountId: string, usage: Usage): Promise<void> {
    usage.reading ??= read(accountId)
      .then((bytes) => {
        usage.storedBytes = bytes
        usage.readAt = now()
      })
      .finally(() => {
        usage.reading = undefined
      })
    await usage.reading
  }

  const isOver = (usage: Usage): boolean => usage.incomingBytes + usage.storedBytes > limitBytes

  async function judge(accountId: string, usage: Usage): Promise<void> {
    const ageMs = usage.readAt === undefined ? Infinity : now() - usage.readAt
    if (ageMs >= (isOver(usage) ? FRESH_MS : KEPT_MS)) await refresh(accountId, usage)
    if (isOver(usage)) throw noSpaceLeft(limitBytes)
  }

  function rest(accountId: string): void {
    idle.add(accountId)
    if (idle.size <= IDLE_ACCOUNTS) return
    const [first] = idle
    if (first === undefined) return
    idle.delete(first)
    accounts.delete(first)
  }

  return {
    open: (accountId) => {
      const usage = accounts.get(accountId) ?? newUsage()
      accounts.set(accountId, usage)
      idle.delete(accountId)
      usage.files += 1
      let takenBytes = 0
      return {
        take: async (bytes) => {
          takenBytes += bytes
          usage.incomingBytes += bytes
          await judge(accountId, usage)
        },
        stored: () => {
          usage.storedBytes += takenBytes
          usage.incomingBytes -= takenBytes
          takenBytes = 0
        },
        [Symbol.dispose]: () => {
          usage.incomingBytes -= takenBytes
          takenBytes = 0
          usage.files -= 1
          if (usage.files === 0) rest(accountId)
        },
      }
    },
  }
}

function newUsage(): Usage {
  return { incomingBytes: 0, storedBytes: 0, readAt: undefined, reading: undefined, files: 0 }
}
