import { batchLoad } from '@plumbline/db/batches/rows'
import type { Db } from '@plumbline/db/database'
import { noSpaceLeft } from '@plumbline/pipeline/submit'

/** The files of accounts together with what is on its way in to this process. */
export interface StorageQuota {
  /** Starts a file of an account; what it took is free again when it is disposed of. */
  open(accountId: string): IncomingFile
}

/** A file on its way in. */
export interface IncomingFile extends Disposable {
  /**
   * Counts bytes before they are written.
   * @throws Problem `payload_too_large` where the account's files would exceed its space
   */
  take(bytes: number): Promise<void>
  /** The file is in the store, and counts there. */
  stored(): void
}

/** What is known of an account while files of it come in. */
interface Usage {
  incomingBytes: number
  storedBytes: number
  /** When the stored bytes were last asked for; none yet where undefined. */
  readAt: number | undefined
  reading: Promise<void> | undefined
  files: number
}

/** How old the stored bytes may be that a file is refused by: batches may have been deleted since. */
const FRESH_MS = 1_000

/** Makes the count of `limitBytes` for each account; `read` asks for the bytes that the store has of it. */
export function createStorageQuota(
  limitBytes: number,
  read: (accountId: string) => Promise<number>,
  now: () => number = () => performance.now(),
): StorageQuota {
  const accounts = new Map<string, Usage>()

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
    if (usage.readAt === undefined) await refresh(accountId, usage)
    else if (isOver(usage) && now() - usage.readAt >= FRESH_MS) await refresh(accountId, usage)
    if (isOver(usage)) throw noSpaceLeft()
  }

  return {
    open: (accountId) => {
      const usage = accounts.get(accountId) ?? newUsage()
      accounts.set(accountId, usage)
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
          if (usage.files === 0) accounts.delete(accountId)
        },
      }
    },
  }
}

/** The bytes of files that the store has of an account. */
export async function storedBytes(db: Db, accountId: string): Promise<number> {
  return (await batchLoad(db.kysely, accountId)).fileBytes
}

function newUsage(): Usage {
  return { incomingBytes: 0, storedBytes: 0, readAt: undefined, reading: undefined, files: 0 }
}
