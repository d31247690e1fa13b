import type { Outcome } from '@plumbline/contract/outcome'
import type { Check, Depth } from '@plumbline/contract/products'
import type { JobData } from './backend.ts'
import type { RefusalCause } from './live-admission.ts'

/** The question of a single call to one check. */
export interface Question {
  readonly subject: string
  readonly depth: Depth
  /** Opaque name of the account. */
  readonly account: string
}

/** A question in a job, with the number that the calling process gave it. */
export interface NumberedQuestion extends Question {
  readonly id: number
  /**
   * Time after which no caller waits for its outcome, in milliseconds since the Unix epoch by the
   * server's clock.
   */
  readonly untilMs: number
  /** The caller's span, as `Tracer.current` returns it; absent without tracing. */
  readonly span?: string | undefined
}

/** Questions that share a job, and the address for their replies. */
export interface LiveJob {
  /** Address of the reply channel of the calling process. */
  readonly replyTo: string
  /**
   * When it was enqueued, in milliseconds since the Unix epoch by the server's clock; an older
   * version leaves it out.
   */
  readonly queuedMs?: number | undefined
  /** Whether the calling process understands a refusal; an older version does not. */
  readonly canBeRefused: boolean
  readonly questions: readonly NumberedQuestion[]
}

/**
 * A message from a worker to the calling process: outcomes, questions in work, refused questions,
 * or questions of a job that failed or, `interrupted`, that the closing of its worker ended.
 */
export type LiveReply =
  | { readonly kind: 'outcomes'; readonly outcomes: readonly (readonly [number, Outcome])[] }
  | { readonly kind: 'working'; readonly ids: readonly number[] }
  | { readonly kind: 'refused'; readonly cause: RefusalCause; readonly ids: readonly number[] }
  | {
      readonly kind: 'failed'
      readonly jobId: string
      readonly ids: readonly number[]
      readonly interrupted: boolean
    }

/**
 * Maximum bytes of a reply, which must fit the payload of a Postgres NOTIFY together with its
 * number.
 */
const MAX_REPLY_BYTES = 7_500

/** Packs outcomes, each as `writeOutcome` returned it, into as few replies as fit a NOTIFY. */
export function packLiveReplies(outcomes: readonly string[]): readonly string[] {
  const replies: string[] = []
  let parts: string[] = []
  let bytes = 0
  for (const outcome of outcomes) {
    const more = Buffer.byteLength(outcome) + 1
    if (parts.length > 0 && bytes + more > MAX_REPLY_BYTES) {
      replies.push(`A[${parts.join(',')}]`)
      parts = []
      bytes = 0
    }
    parts.push(outcome)
    bytes += more
  }
  if (parts.length > 0) replies.push(`A[${parts.join(',')}]`)
  return replies
}

/** The outcome of one question in the form of a reply. */
export function writeOutcome<C extends Check>(id: number, outcome: Outcome<C>): string {
  return JSON.stringify([id, outcome])
}

/** A reply that names the questions in work. */
export function writeWorking(ids: readonly number[]): string {
  return `W${JSON.stringify(ids)}`
}

/** A reply that names refused questions, and why. */
export function writeRefused(cause: RefusalCause, ids: readonly number[]): string {
  return `R${JSON.stringify({ cause, ids })}`
}

/** A reply that names the questions that a job failed on. */
export function writeFailed(jobId: string, ids: readonly number[]): string {
  return `F${JSON.stringify({ jobId, ids })}`
}

/**
 * A reply that names the questions of a job that the worker's closing interrupted. An older version
 * reads that the job failed on them.
 */
export function writeInterrupted(jobId: string, ids: readonly number[]): string {
  return `F${JSON.stringify({ jobId, ids, interrupted: true })}`
}

/**
 * Safe casts: only the functions above write replies.
 *
 * @throws on any other text
 */
export function readLiveReply(text: string): LiveReply {
  const content: unknown = JSON.parse(text.slice(1))
  switch (text[0]) {
    case 'A':
      return { kind: 'outcomes', outcomes: content as [number, Outcome][] }
    case 'W':
      return { kind: 'working', ids: content as number[] }
    case 'R':
      return { kind: 'refused', ...(content as { cause: RefusalCause; ids: number[] }) }
    case 'F': {
      const { interrupted, ...failed } = content as Interruptible
      return { kind: 'failed', ...failed, interrupted: interrupted === true }
    }
    default:
      throw new Error(`a reply begins with A, W, R or F, got ${JSON.stringify(text.slice(0, 1))}`)
  }
}

interface Interruptible {
  readonly jobId: string
  readonly ids: readonly number[]
  /** Absent if the job failed, and in replies of an older version. */
  readonly interrupted?: true
}

/**
 * A job of questions as plain data. A worker of an older version reads one time for all questions:
 * the latest, as none may be dropped early.
 */
export function writeLiveJob({
  replyTo,
  queuedMs,
  questions,
}: Omit<LiveJob, 'canBeRefused'>): JobData {
  const asked = questions.map(({ id, subject, depth, account, span }) => [
    id,
    subject,
    depth,
    account,
    ...(span === undefined ? [] : [span]),
  ])
  // As text within the data: a subject may contain NUL or half a surrogate pair, which jsonb
  // rejects.
  const text = JSON.stringify(asked)
  const queued = queuedMs === undefined ? {} : { queued: Math.round(queuedMs) }
  const untils = questions.map(({ untilMs }) => Math.round(untilMs))
  return { replyTo, until: Math.max(...untils), untils, refusals: true, questions: text, ...queued }
}

/** A question in the form of a job; an older version leaves the span out. */
type Packed = readonly [number, string, Depth, string, string?]

/** Safe cast: only `writeLiveJob` makes the data of live queues. */
export function readLiveJob(data: JobData): LiveJob {
  const { replyTo, until, untils, queued, refusals, questions } = data as {
    replyTo: string
    until: number
    /** Of each question; a job of an older version leaves it out. */
    untils?: readonly number[]
    queued?: number
    refusals?: true
    questions: string
  }
  const asked = JSON.parse(questions) as readonly Packed[]
  return {
    replyTo,
    queuedMs: queued,
    canBeRefused: refusals === true,
    questions: asked.map(([id, subject, depth, account, span], place) => ({
      id,
      untilMs: untils?.[place] ?? until,
      subject,
      depth,
      account,
      span,
    })),
  }
}

/** Safe: a reply to a question carries an outcome of the question's check. */
export function outcomeOf<C extends Check>(outcome: Outcome): Outcome<C> {
  return outcome as unknown as Outcome<C>
}
