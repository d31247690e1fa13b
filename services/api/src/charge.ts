import { isPassing } from '@plumbline/db/retry'
import type { AnswerAsk } from '@plumbline/metering/answer'
import type { Metering } from '@plumbline/metering/metering'
import { setTimeout as wait } from 'node:timers/promises'

/** What notes need. */
export interface Notes {
  readonly metering: Pick<Metering, 'answered'>
  /** After this long a debit without a note is given back. */
  readonly timeoutMs: number
  readonly onError: (error: unknown) => void
  /** Between two tries; half a second by default. */
  readonly againMs?: number
}

/** How often a note is tried again while the database is away. */
const AGAIN_MS = 500

/**
 * Notes behind an answer that its call was answered, so that its debit stands. While the database is away
 * it goes on trying until the debit would have been given back; a fault goes to `onError`.
 */
export async function finalizeInBackground(notes: Notes, answered: AnswerAsk): Promise<void> {
  const { againMs = AGAIN_MS } = notes
  const endMs = performance.now() + notes.timeoutMs
  for (;;) {
    try {
      await notes.metering.answered(answered)
      return
    } catch (error) {
      if (!isPassing(error) || performance.now() >= endMs) {
        notes.onError(error)
        return
      }
      await wait(againMs, undefined, { ref: false })
    }
  }
}
