import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test, vi } from 'vitest'
import type { Answer } from '@plumbline/ports/engine'
import { ask, outcomeOf, testEngine } from '@plumbline/email/engine-fixture'
import { createEgress } from '@plumbline/net/egress'
import { createResolver } from '@plumbline/net/resolver'
import { spawnSimnet } from './child.ts'
import { startSimnet } from './simnet.ts'
import type { Simnet } from './simnet.ts'
import { FAULTS } from './smtp/faults.ts'

// Servers start slowly on a machine that is busy with other tests.
vi.setConfig({ testTimeout: 30_000 })

const RECHECK_MS = 2_000
const BULK = { lane: 'bulk' } as const

/** Addresses at each Microsoft domain: some with a mailbox, and some without. */
function addressesOf({ world }: Simnet): readonly string[] {
  return [...world.domains.values()]
    .filter(({ kind }) => kind === 'microsoft365' || kind === 'outlook')
    .flatMap(({ name }) => Array.from({ length: 20 }, (_, n) => `user${n}@${name}`))
    .filter((address) =>
      ['deliverable', 'undeliverable'].includes(world.expectEmail(address).status),
    )
}

test('a batch rechecks refusals of Microsoft, and no others', async () => {
  await using simnet = await startSimnet({ seed: 7, countsRecipients: true })
  const egress = createEgress({ allow: ['127.0.0.0/8'] })
  await using engine = testEngine(
    Number(simnet.settings['SMTP_PORT']),
    {},
    {
      egress,
      resolver: createResolver({ servers: [simnet.settings['DNS_SERVERS'] ?? ''], egress }),
      limits: { recipientsPerMinute: 1e6, recheckMs: RECHECK_MS },
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
    answer.group.startsWith('recheck:') &&
    answer.reason === 'mailbox_not_found' &&
    answer.afterMs === RECHECK_MS
  )
}

test('500 connections to every kind of hostile server use at most 30 MB, and all are closed', async () => {
  // The servers are another process, so that only our own memory is measured.
  await using simnet = await spawnSimnet({ seed: 7 })
  const faults = Object.keys(FAULTS)
  const each = Math.ceil(500 / faults.length)
  const egress = createEgress({ allow: ['127.0.0.0/8'] })
  const engine = testEngine(
    Number(simnet.settings['SMTP_PORT']),
    {},
    {
      egress,
      resolver: createResolver({ servers: [simnet.settings['DNS_SERVERS'] ?? ''], egress }),
      limits: {
        sessions: 600,
        startConnections: each,
        connectionsPerGroup: each,
        recipientsPerTransaction: 1,
        recipientsPerMinute: 1e6,
      },
      times: {
        connectMs: 5_000,
        greetingMs: 1_500,
        commandMs: 1_500,
        recipientMs: 1_500,
        sessionMs: 4_000,
      },
    },
  )
  const subjects = faults.flatMap((fault) =>
    Array.from({ length: each }, (_, n) => `user${n}@smtp-${fault}.example`),
  )
  const socketsBefore = openSockets()
  const before = collected()
  const peak = { bytes: 0, sockets: 0 }
  const timer = setInterval(() => {
    peak.bytes = Math.max(peak.bytes, collected() - before)
    peak.sockets = Math.max(peak.sockets, openSockets() - socketsBefore)
  }, 25)
  const answers = await ask(engine, subjects, { signal: AbortSignal.timeout(20_000) })
  clearInterval(timer)
  await engine[Symbol.asyncDispose]()
  expect(peak.sockets).toBeGreaterThan(400)
  expect(answers.filter((answer) => outcomeOf(answer).status === 'undeliverable')).toEqual([])
  await expect.poll(() => openSockets() - socketsBefore).toBe(0)
  expect(peak.bytes / 1024 / 1024).toBeLessThan(30)
})

function openSockets(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length
}

/** Memory in use after a garbage collection. */
function collected(): number {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  if (typeof collect !== 'function') throw new Error('the garbage collector cannot be called')
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
