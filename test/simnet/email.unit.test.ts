import { expect, test, vi } from 'vitest'
import type { Answer } from '@plumbline/contract/outcome'
import { ask, outcomeOf, testEngine } from '@plumbline/engines/email/engine-fixture'
import { createEgress } from '@plumbline/engines/net/egress'
import { createResolver } from '@plumbline/engines/net/resolver'
import { startSimnet } from './simnet.ts'
import type { Simnet } from './simnet.ts'

// Servers start slowly on a machine that is busy with other tests.
vi.setConfig({ testTimeout: 30_000 })

const SECOND_LOOK_MS = 2_000
const BULK = { lane: 'bulk' } as const

/** Some addresses of each Microsoft domain whose mailbox does not exist, and some whose mailbox does. */
function addressesOf({ world }: Simnet): readonly string[] {
  return [...world.domains.values()]
    .filter(({ kind }) => kind === 'microsoft365' || kind === 'outlook')
    .flatMap(({ name }) => Array.from({ length: 20 }, (_, n) => `user${n}@${name}`))
    .filter((address) =>
      ['deliverable', 'undeliverable'].includes(world.expectEmail(address).status),
    )
}

test('a list looks twice at the refusals of Microsoft, and at nothing else', async () => {
  await using simnet = await startSimnet({ seed: 7, countsRecipients: true })
  const egress = createEgress({ allow: ['127.0.0.0/8'] })
  await using engine = testEngine(
    Number(simnet.settings['SMTP_PORT']),
    {},
    {
      egress,
      resolver: createResolver({ servers: [simnet.settings['DNS_SERVERS'] ?? ''], egress }),
      limits: { recipientsPerMinute: 1e6, secondLookMs: SECOND_LOOK_MS },
      times: { connectMs: 5_000, greetingMs: 5_000, commandMs: 5_000, recipientMs: 5_000 },
    },
  )
  const signal = AbortSignal.timeout(25_000)
  const subjects = addressesOf(simnet)
  const wanted = subjects.map((subject) => simnet.world.expectEmail(subject).status)
  const first = await ask(engine, subjects, { ...BULK, signal })
  const doubts = first.flatMap((answer, at) => (answer.kind === 'later' ? [{ answer, at }] : []))
  expect(doubts.length).toBeGreaterThan(10)
  expect(doubts.every(({ answer, at }) => isDoubt(answer) && wanted[at] === 'undeliverable')).toBe(
    true,
  )
  const second = await ask(
    engine,
    doubts.map(({ at }) => subjects[at] ?? ''),
    { ...BULK, signal, states: doubts.map(({ answer }) => answer.state) },
  )
  const answers = [...first]
  doubts.forEach(({ at }, n) => {
    const answer = second[n]
    if (answer === undefined) return
    answers[at] = answer
    const { facts, evidence } = outcomeOf(answer)
    expect([facts.confidence, evidence['second_look']]).toEqual(['high', 'confirmed'])
  })
  expect(answers.map((answer) => outcomeOf(answer).status)).toEqual(wanted)
  const doubted = new Set(doubts.map(({ at }) => subjects[at]))
  for (const [subject, count] of simnet.counters.recipients ?? []) {
    if (subjects.includes(subject))
      expect([subject, count]).toEqual([subject, doubted.has(subject) ? 2 : 1])
  }
})

function isDoubt(answer: Answer<'email'>): boolean {
  return (
    answer.kind === 'later' &&
    answer.group.startsWith('doubt:') &&
    answer.reason === 'mailbox_not_found' &&
    answer.afterMs === SECOND_LOOK_MS
  )
}
