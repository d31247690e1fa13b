import type { Check } from '@plumbline/contract/products'
import type { Answer, Engine } from '@plumbline/ports/engine'
import type { SpanFacts, Tracer } from '@plumbline/ports/tracer'

/**
 * Records each run of an engine as a span, with attributes from our own vocabulary; the engine
 * answers as before.
 */
export function traceEngine<C extends Check>(tracer: Tracer, engine: Engine<C>): Engine<C> {
  const { check } = engine
  return {
    check,
    health: () => engine.health(),
    run: async (request) => {
      const { lane, depth, subjects } = request
      const facts = { check, lane, depth, subjects: subjects.length }
      return await tracer.span(
        { name: `engine ${check}`, kind: 'internal', facts },
        async (note) => {
          const answers = await engine.run(request)
          note(factsOf(answers))
          return answers
        },
      )
    },
    [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose](),
  }
}

/**
 * Attributes of a run: for one subject its result; for several, how many wait and how many were
 * cached.
 */
function factsOf(answers: readonly Answer[]): SpanFacts {
  const outcomes = answers.filter((answer) => answer.kind !== 'later')
  const [only] = outcomes
  const counts = {
    later: answers.length - outcomes.length,
    cached: outcomes.filter(({ cached }) => cached).length,
  }
  if (only === undefined || answers.length > 1) return counts
  return { ...counts, status: only.status, reason: only.reason }
}
