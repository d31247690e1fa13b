import type { Answer, EngineRequest } from '@plumbline/ports/engine'
import { answerSubject, answerWith, circumstances, setAnswer } from './answer-subject.ts'
import type { Run, RunTools, Subject } from './answer-subject.ts'
import { probeResultKey } from './probe-cache.ts'
import { waitStateOf } from './later.ts'
import { syntaxOutcome } from './outcome.ts'
import { afterRecheck, unknownResult } from './probe-result.ts'
import { parseMailbox } from './syntax.ts'
import { suggestDomain } from './typo.ts'

/** Subjects read from the cache at once. */
const LOOKUP_COUNT = 250

/** Processes the subjects of one request, at most `limits.window` of them concurrently. */
export async function runRequest(
  tools: RunTools,
  request: EngineRequest<'email'>,
): Promise<readonly Answer<'email'>[]> {
  const run: Run = {
    tools,
    request,
    answers: Array.from({ length: request.subjects.length }),
    open: new Map(),
    targets: new Map(),
    done: Promise.withResolvers(),
    wake: null,
    clock: { atMs: Number.NaN, iso: '' },
    left: request.subjects.length,
  }
  if (run.left === 0) return []
  const onAbort = (): void => expire(run)
  request.signal.addEventListener('abort', onAbort, { once: true })
  if (request.signal.aborted) onAbort()
  try {
    await readSubjects(run)
    await run.done.promise
  } finally {
    request.signal.removeEventListener('abort', onAbort)
    leaveProbes(run)
  }
  return run.answers.filter((answer) => answer !== undefined)
}

async function readSubjects(run: Run): Promise<void> {
  const { tools, request } = run
  for (let from = 0; from < request.subjects.length && run.left > 0; from += LOOKUP_COUNT) {
    const page: Subject[] = []
    request.subjects.slice(from, from + LOOKUP_COUNT).forEach((text, offset) => {
      const subject =
        run.answers[from + offset] === undefined ? begin(run, from + offset, text) : null
      if (subject !== null) page.push(subject)
    })
    const known = await tools.cache.results(
      page.map(({ memoryKey }) => memoryKey),
      request.account,
    )
    page.forEach((subject, at) => answerSubject(run, subject, known[at]))
    while (run.open.size >= tools.limits.window && run.left > 0) {
      const room = Promise.withResolvers<void>()
      run.wake = room.resolve
      await Promise.race([room.promise, run.done.promise])
      run.wake = null
    }
  }
}

/** Parses a text; one that is not an email address is answered at once. */
function begin(run: Run, index: number, text: string): Subject | null {
  const beganMs = run.tools.now()
  const mailbox = parseMailbox(text)
  const state = waitStateOf(run.request.states?.[index])
  if (!mailbox.ok) {
    const when = circumstances(run, { beganMs, state }, false)
    setAnswer(run, index, syntaxOutcome(text, mailbox, suggestDomain(text), when))
    return null
  }
  const address = `${mailbox.local}@${mailbox.domain}`
  const account = run.request.account
  const subject: Subject = {
    index,
    text,
    mailbox,
    address,
    memoryKey: probeResultKey(address, account, run.tools),
    account,
    state,
    beganMs,
    target: null,
    hosts: [],
    waits: null,
  }
  run.open.set(index, subject)
  return subject
}

/** At the end of the request's time, every unanswered subject is unknown. */
function expire(run: Run): void {
  leaveProbes(run)
  run.request.subjects.forEach((text, index) => {
    if (run.answers[index] !== undefined) return
    const subject = run.open.get(index) ?? begin(run, index, text)
    if (subject === null) return
    const result = afterRecheck(subject.state.first, unknownResult('timeout'))
    answerWith(run, subject, result, false)
  })
}

function leaveProbes(run: Run): void {
  for (const { waits } of run.open.values()) {
    if (waits !== null) run.tools.inFlight.leave(waits.probe, waits.listener)
  }
}
