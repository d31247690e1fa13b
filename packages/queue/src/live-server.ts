import { createBatcher } from '@plumbline/concurrency/batcher'
import type { Outcome } from '@plumbline/contract/outcome'
import type { Check } from '@plumbline/contract/products'
import type { QueueBackend } from './backend.ts'
import { work, type QueueWorker } from './jobs.ts'
import {
  packOutcomes,
  readLiveJob,
  writeFailed,
  writeOutcome,
  writeWorking,
  type LiveJob,
  type Question,
} from './live-protocol.ts'
import { liveQueueOf } from './names.ts'

/** Questions that came in one job. */
export interface LiveRequest<C extends Check> {
  readonly questions: readonly Question[]
  /** Ends the run: nobody waits for an outcome any longer. */
  readonly signal: AbortSignal
  /** Sends the outcome of one question to the process that asked, at once; only the first of each counts. */
  readonly answered: (index: number, outcome: Outcome<C>) => void
}

/** How single calls are served. */
export interface ServeLiveOptions {
  /** Jobs under way together, each of 1 to 64 questions. */
  readonly concurrency: number
  readonly onError: (error: unknown) => void
}

/** How often the process that asked hears that its questions are being worked on. */
const WORKING_EVERY_MS = 700

/**
 * Answers the single calls of a check. What the handler leaves unanswered, or throws on, is reported to
 * the process that asked, which asks once more; what the time was too short for is not reported.
 */
export function serveLive<C extends Check>(
  backend: QueueBackend,
  check: C,
  handler: (request: LiveRequest<C>) => Promise<void>,
  { concurrency, onError }: ServeLiveOptions,
): Promise<QueueWorker> {
  const send = createReplySender(backend)
  return work(
    backend,
    liveQueueOf(check),
    async ({ id, data, signal }) => {
      const job = readLiveJob(data)
      const leftMs = job.untilMs - backend.clock.nowMs()
      if (leftMs > 0) await runLiveJob(job, handler, { jobId: id, send, signal, leftMs, onError })
    },
    { concurrency, onError },
  )
}

interface JobContext {
  readonly jobId: string
  readonly send: ReplySender
  /** Aborted when the lock of the job was lost or the worker must end. */
  readonly signal: AbortSignal
  /** How long somebody waits for the outcomes. */
  readonly leftMs: number
  readonly onError: (error: unknown) => void
}

async function runLiveJob<C extends Check>(
  { replyTo, questions }: LiveJob,
  handler: (request: LiveRequest<C>) => Promise<void>,
  { jobId, send, signal, leftMs, onError }: JobContext,
): Promise<void> {
  const unanswered = new Set(questions.map(({ id }) => id))
  const sent: Promise<void>[] = []
  const reply = (outgoing: OutgoingReply): void => void sent.push(send(outgoing).catch(onError))
  const run = new AbortController()
  const end = (): void => run.abort(signal.reason)
  signal.addEventListener('abort', end, { once: true })
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    run.abort(new Error('time is up'))
  }, leftMs)
  const heartbeat = setInterval(
    () => reply({ replyTo, text: writeWorking([...unanswered]) }),
    WORKING_EVERY_MS,
  )
  try {
    await handler({
      questions,
      signal: run.signal,
      answered(index, outcome) {
        const question = questions[index]
        if (question === undefined || !unanswered.delete(question.id)) return
        reply({ replyTo, outcome: writeOutcome(question.id, outcome) })
      },
    })
  } catch (error) {
    onError(error)
  } finally {
    clearInterval(heartbeat)
    clearTimeout(timer)
    signal.removeEventListener('abort', end)
  }
  // What is only late would be late again.
  if (unanswered.size > 0 && !isLate) reply({ replyTo, text: writeFailed(jobId, [...unanswered]) })
  await Promise.all(sent)
}

/** To one process: an outcome, which shares a reply with others, or a reply of its own. */
type OutgoingReply =
  | { readonly replyTo: string; readonly outcome: string }
  | { readonly replyTo: string; readonly text: string }

type ReplySender = (outgoing: OutgoingReply) => Promise<void>

/** What is sent at the same moment goes to each process together. */
function createReplySender({ replyChannel, kind }: QueueBackend): ReplySender {
  return createBatcher(
    async (outgoing: readonly OutgoingReply[]) => {
      const processes = Map.groupBy(outgoing, ({ replyTo }) => replyTo)
      await Promise.all(
        [...processes].map(([replyTo, mine]) =>
          replyChannel.send(replyTo, [
            ...packOutcomes(mine.flatMap((each) => ('outcome' in each ? [each.outcome] : []))),
            ...mine.flatMap((each) => ('text' in each ? [each.text] : [])),
          ]),
        ),
      )
      return outgoing.map(() => undefined)
    },
    // Postgres lets one NOTIFY commit at a time; Redis takes them as they come.
    { maxItems: 500, maxRuns: kind === 'redis' ? 8 : 2 },
  )
}
