import { createBatcher } from '@plumbline/concurrency/batcher'
import type { Outcome } from '@plumbline/contract/outcome'
import type { Check } from '@plumbline/contract/products'
import type { QueueBackend } from './backend.ts'
import { work, type QueueWorker } from './jobs.ts'
import {
  packAnswers,
  readJob,
  writeAnswer,
  writeFailed,
  writeWorking,
  type LiveJob,
  type Question,
} from './live-protocol.ts'
import { liveQueueOf } from './names.ts'

/** Questions that came in one job. */
export interface LiveRequest<C extends Check> {
  readonly questions: readonly Question[]
  /** Ends the run: nobody waits for an answer any longer. */
  readonly signal: AbortSignal
  /** Sends the outcome of one question to its asker at once; only the first of each counts. */
  readonly answered: (index: number, outcome: Outcome<C>) => void
}

/** How single calls are served. */
export interface ServeLiveOptions {
  /** Jobs under way together, each of 1 to 64 questions. */
  readonly concurrency: number
  readonly onError: (error: unknown) => void
}

/** How often an asker hears that its question is being worked on. */
const WORKING_EVERY_MS = 700

/**
 * Answers the single calls of a check. What the handler leaves unanswered, or throws on, is told to
 * the asker, who asks once more alone; what its time was too short for ends with the asker's own.
 */
export function serveLive<C extends Check>(
  backend: QueueBackend,
  check: C,
  handler: (request: LiveRequest<C>) => Promise<void>,
  { concurrency, onError }: ServeLiveOptions,
): Promise<QueueWorker> {
  const send = createSender(backend)
  return work(
    backend,
    liveQueueOf(check),
    async ({ id, data, signal }) => {
      const job = readJob(data)
      const leftMs = job.untilMs - backend.clock.nowMs()
      if (leftMs > 0) await answer(job, handler, { jobId: id, send, signal, leftMs, onError })
    },
    { concurrency, onError },
  )
}

interface Desk {
  readonly jobId: string
  readonly send: Sender
  readonly signal: AbortSignal
  readonly leftMs: number
  readonly onError: (error: unknown) => void
}

async function answer<C extends Check>(
  { box, questions }: LiveJob,
  handler: (request: LiveRequest<C>) => Promise<void>,
  { jobId, send, signal, leftMs, onError }: Desk,
): Promise<void> {
  const open = new Set(questions.map(({ id }) => id))
  const sent: Promise<void>[] = []
  const tell = (sending: Promise<void>): void => void sent.push(sending.catch(onError))
  const over = new AbortController()
  const end = (): void => over.abort(signal.reason)
  signal.addEventListener('abort', end, { once: true })
  let late = false
  const timer = setTimeout(() => {
    late = true
    over.abort(new Error('time is up'))
  }, leftMs)
  const beat = setInterval(
    () => tell(send({ box, letter: writeWorking([...open]) })),
    WORKING_EVERY_MS,
  )
  try {
    await handler({
      questions,
      signal: over.signal,
      answered(index, outcome) {
        const question = questions[index]
        if (question === undefined || !open.delete(question.id)) return
        tell(send({ box, answer: writeAnswer(question.id, outcome) }))
      },
    })
  } catch (error) {
    onError(error)
  } finally {
    clearInterval(beat)
    clearTimeout(timer)
    signal.removeEventListener('abort', end)
  }
  // Asked once more, what is only late would be late again.
  if (open.size > 0 && !late) tell(send({ box, letter: writeFailed(jobId, [...open]) }))
  await Promise.all(sent)
}

/** Something for one asker: an answer, which shares a letter with others, or a letter of its own. */
type Parcel =
  | { readonly box: string; readonly answer: string }
  | { readonly box: string; readonly letter: string }

type Sender = (parcel: Parcel) => Promise<void>

/** What is known at the same moment goes to each asker together. */
function createSender({ replyChannel, kind }: QueueBackend): Sender {
  return createBatcher(
    async (parcels: readonly Parcel[]) => {
      const boxes = Map.groupBy(parcels, ({ box }) => box)
      await Promise.all(
        [...boxes].map(([box, mine]) =>
          replyChannel.send(box, [
            ...packAnswers(mine.flatMap((parcel) => ('answer' in parcel ? [parcel.answer] : []))),
            ...mine.flatMap((parcel) => ('letter' in parcel ? [parcel.letter] : [])),
          ]),
        ),
      )
      return parcels.map(() => undefined)
    },
    // Postgres lets one NOTIFY commit at a time; Redis takes them as they come.
    { maxItems: 500, maxRuns: kind === 'redis' ? 8 : 2 },
  )
}
