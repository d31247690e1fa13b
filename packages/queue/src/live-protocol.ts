import type { Outcome } from '@plumbline/contract/outcome'
import type { Check, Depth } from '@plumbline/contract/products'
import type { JobData } from './backend.ts'

/** A subject that a single call asks about. */
export interface Question {
  readonly subject: string
  readonly depth: Depth
  /** Opaque name of who asks. */
  readonly tenant: string
}

/** A question in a job, with the number by which its asker knows it. */
export type NumberedQuestion = Question & { readonly id: number }

/** Questions that travel together, and where their answers go. */
export interface LiveJob {
  readonly box: string
  /** Milliseconds of the server's clock after which no answer is waited for. */
  readonly untilMs: number
  readonly questions: readonly NumberedQuestion[]
}

/** What a worker tells the asker: outcomes, that it still works on some, or that its job failed on some. */
export type Letter =
  | { readonly kind: 'answered'; readonly answers: readonly (readonly [number, Outcome])[] }
  | { readonly kind: 'working'; readonly ids: readonly number[] }
  | { readonly kind: 'failed'; readonly jobId: string; readonly ids: readonly number[] }

/** Bytes of a letter that still travels within a NOTIFY. */
const LETTER_BYTES = 7_500

/** Packs answers, each already written by `writeAnswer`, into as few letters as fit a NOTIFY. */
export function packAnswers(answers: readonly string[]): readonly string[] {
  const letters: string[] = []
  let parts: string[] = []
  let bytes = 0
  for (const answer of answers) {
    const more = Buffer.byteLength(answer) + 1
    if (parts.length > 0 && bytes + more > LETTER_BYTES) {
      letters.push(`A[${parts.join(',')}]`)
      parts = []
      bytes = 0
    }
    parts.push(answer)
    bytes += more
  }
  if (parts.length > 0) letters.push(`A[${parts.join(',')}]`)
  return letters
}

/** One answer as it stands in a letter. */
export function writeAnswer<C extends Check>(id: number, outcome: Outcome<C>): string {
  return JSON.stringify([id, outcome])
}

/** A letter that names the questions that are worked on. */
export function writeWorking(ids: readonly number[]): string {
  return `W${JSON.stringify(ids)}`
}

/** A letter that names the questions that a job failed on. */
export function writeFailed(jobId: string, ids: readonly number[]): string {
  return `F${JSON.stringify({ jobId, ids })}`
}

/** Safe casts: only the functions above write letters; throws on any other text. */
export function readLetter(text: string): Letter {
  const content: unknown = JSON.parse(text.slice(1))
  switch (text[0]) {
    case 'A':
      return { kind: 'answered', answers: content as [number, Outcome][] }
    case 'W':
      return { kind: 'working', ids: content as number[] }
    case 'F':
      return { kind: 'failed', ...(content as { jobId: string; ids: number[] }) }
    default:
      throw new Error(`a letter begins with A, W or F, met ${JSON.stringify(text.slice(0, 1))}`)
  }
}

/** A job of questions as plain data. */
export function writeJob({ box, untilMs, questions }: LiveJob): JobData {
  const asks = questions.map(({ id, subject, depth, tenant }) => [id, subject, depth, tenant])
  // As text within the data: a subject may hold NUL or half a surrogate pair, which jsonb refuses.
  return { box, until: Math.round(untilMs), asks: JSON.stringify(asks) }
}

/** Safe cast: only `writeJob` makes the data of live queues. */
export function readJob(data: JobData): LiveJob {
  const { box, until, asks } = data as { box: string; until: number; asks: string }
  const written = JSON.parse(asks) as readonly (readonly [number, string, Depth, string])[]
  const questions = written.map(([id, subject, depth, tenant]) => ({ id, subject, depth, tenant }))
  return { box, untilMs: until, questions }
}

/** Safe: a letter about a question carries the kind of outcome that the question asked for. */
export function outcomeOf<C extends Check>(outcome: Outcome): Outcome<C> {
  return outcome as unknown as Outcome<C>
}
