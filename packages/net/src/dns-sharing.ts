import { orOnAbort } from '@plumbline/concurrency/time-out'
import type { DnsAnswer } from './dns-answer.ts'

/** Questions that are open, each shared by all who ask it meanwhile. */
export interface SharedQuestions {
  /**
   * The answer of the open question with this key, or `failed`, `timeout` once the signal aborts;
   * null if none is open.
   */
  join(key: string, signal: AbortSignal | undefined): Promise<DnsAnswer> | null
  /** Opens a question, none with its key being open, and joins it. */
  open(
    key: string,
    signal: AbortSignal | undefined,
    run: (signal: AbortSignal) => Promise<DnsAnswer>,
  ): Promise<DnsAnswer>
}

/** The answer to a caller that gave up. */
export const TIMED_OUT: DnsAnswer = { kind: 'failed', reason: 'timeout' }

interface OpenQuestion {
  waiters: number
  readonly controller: AbortController
  readonly answer: Promise<DnsAnswer>
}

/** Makes an empty set of questions. One that no caller waits for any more is aborted at once. */
export function createSharedQuestions(): SharedQuestions {
  const questions = new Map<string, OpenQuestion>()

  async function answerOf(
    key: string,
    question: OpenQuestion,
    signal: AbortSignal | undefined,
  ): Promise<DnsAnswer> {
    question.waiters++
    try {
      return await (signal === undefined
        ? question.answer
        : orOnAbort(question.answer, signal, TIMED_OUT))
    } finally {
      // A later caller starts again.
      if (--question.waiters === 0 && questions.get(key) === question) {
        questions.delete(key)
        question.controller.abort()
      }
    }
  }

  return {
    join(key, signal) {
      const question = questions.get(key)
      return question === undefined ? null : answerOf(key, question, signal)
    },
    open(key, signal, run) {
      const controller = new AbortController()
      const answer = run(controller.signal).finally(() => {
        if (questions.get(key) === question) questions.delete(key)
      })
      const question: OpenQuestion = { waiters: 0, controller, answer }
      questions.set(key, question)
      return answerOf(key, question, signal)
    },
  }
}
