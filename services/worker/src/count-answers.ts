import type { Outcome } from '@plumbline/contract/outcome'
import type { Check } from '@plumbline/contract/products'
import type { Answer, Engine, EngineRequest } from '@plumbline/ports/engine'
import type { Metrics } from '@plumbline/runtime/metrics'

/** Wraps an engine and counts its answers. */
export type AnswerCounter = <C extends Check>(engine: Engine<C>) => Engine<C>

/** Histogram buckets in seconds; a session with a mail server takes several. */
const SECONDS = [0.01, 0.05, 0.25, 1, 2.5, 5, 10, 30, 120]

/**
 * Counts outcomes by status, reason and provider, waiting subjects by reason, and the time of
 * outcomes from the network. Of a batch only the answers that it keeps are counted.
 */
export function createAnswerCounter(metrics: Metrics): AnswerCounter {
  const outcomes = metrics.counter(
    'outcomes_total',
    'Outcomes of checks; the provider is that of the mailbox, or of the HLR lookup.',
    ['check', 'lane', 'status', 'reason', 'provider'],
  )
  const waits = metrics.counter('subjects_put_off_total', 'Subjects that must wait, and why.', [
    'check',
    'reason',
  ])
  const seconds = metrics.histogram(
    'outcome_seconds',
    'Time to an outcome for which the network was asked.',
    ['check', 'lane'],
    SECONDS,
  )
  function count<C extends Check>(
    check: C,
    lane: Lane,
    answers: readonly (Answer<C> | undefined)[],
  ): void {
    const tallies = new Tallies()
    for (const answer of answers) {
      if (answer === undefined) continue
      if (answer.kind === 'later') {
        waits.inc({ check, reason: answer.reason })
        continue
      }
      const { cached, durationMs } = answer
      tallies.add(answer.status, answer.reason, providerOf(answer))
      // An outcome from lists or syntax alone takes no time.
      if (!cached && durationMs > 0) seconds.observe({ check, lane }, durationMs / 1_000)
    }
    for (const { status, reason, provider, count } of tallies.all()) {
      outcomes.inc({ check, lane, status, reason, provider }, count)
    }
  }
  return (engine) => ({
    check: engine.check,
    health: () => engine.health(),
    run: async (request) => {
      const { check } = engine
      const { lane } = request
      if (lane === 'live') {
        const answers = await engine.run(request)
        count(check, lane, answers)
        return answers
      }
      const kept: (Answer<typeof check> | undefined)[] = []
      try {
        return await runKeeping(engine, request, kept)
      } finally {
        count(check, lane, kept)
      }
    },
    [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose](),
  })
}

type Lane = EngineRequest<Check>['lane']

/**
 * Runs an engine for a batch and records the answers that the batch keeps, by subject: those
 * reported before an abort or an error, and what is returned without one. The rest is run again.
 */
async function runKeeping<C extends Check>(
  engine: Engine<C>,
  request: EngineRequest<C>,
  kept: (Answer<C> | undefined)[],
): Promise<readonly Answer<C>[]> {
  const keep = (index: number, answer: Answer<C>): void => {
    if (!request.signal.aborted) kept[index] ??= answer
  }
  const answers = await engine.run({
    ...request,
    answered(index, answer, group) {
      keep(index, answer)
      request.answered?.(index, answer, group)
    },
  })
  for (const [index, answer] of answers.entries()) keep(index, answer)
  return answers
}

interface Tally {
  readonly status: string
  readonly reason: string
  readonly provider: string
  count: number
}

/**
 * Counts by labels, reported once per run: one update of a metric costs as much as many additions
 * here.
 */
class Tallies {
  readonly #byLabels = new Map<string, Tally>()

  add(status: string, reason: string, provider: string): void {
    const labels = `${status} ${reason} ${provider}`
    const tally = this.#byLabels.get(labels)
    if (tally === undefined) this.#byLabels.set(labels, { status, reason, provider, count: 1 })
    else tally.count += 1
  }

  all(): Iterable<Tally> {
    return this.#byLabels.values()
  }
}

/** The id of the mailbox provider, or of the HLR provider that was asked; empty if there is none. */
function providerOf({ evidence }: Pick<Outcome, 'evidence'>): string {
  const { provider, hlr } = evidence
  const asked =
    typeof hlr === 'object' && hlr !== null && 'provider' in hlr ? hlr['provider'] : provider
  return typeof asked === 'string' ? asked : ''
}
