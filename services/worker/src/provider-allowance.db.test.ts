import { randomBytes } from 'node:crypto'
import type { Engine } from '@plumbline/ports/engine'
import { ask, testEngine } from '@plumbline/email/engine-fixture'
import { DEFAULT_LIMITS, limitsOf } from '@plumbline/email/limits'
import { ORDINARY_PROVIDER } from '@plumbline/email/providers'
import { startSmtp, type SmtpScript } from '@plumbline/email/smtp-fixture'
import { backends } from '@plumbline/testkit/backends'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { openPostgresTestQueue, openRedisTestQueue, type TestQueue } from '@plumbline/testkit/queue'
import { describe, expect, test } from 'vitest'

// Two workers ask the hosts of one provider for more than it allows. Their limits are shared
// through a real store, and a server on loopback notes from which address it was asked for each
// recipient, and when.

const LIMITS = {
  recipientsPerMinute: 40,
  // Nothing is put off but for want of room, however slow the machine is.
  queueMs: 3_600_000,
  window: 400,
}
const { bucket } = limitsOf({ ...DEFAULT_LIMITS, ...LIMITS }, 'held.test', ORDINARY_PROVIDER)
const PATIENT_MS = 60_000
const TIMES = {
  connectMs: PATIENT_MS,
  greetingMs: PATIENT_MS,
  commandMs: PATIENT_MS,
  recipientMs: PATIENT_MS,
  sessionMs: PATIENT_MS,
}

/** Domains whose mail the provider takes, and their zone. */
const DOMAINS = ['a.test', 'b.test', 'c.test']
const ZONE = {
  ...Object.fromEntries(
    DOMAINS.map((domain) => [`${domain} MX`, [{ preference: 10, exchange: 'mx.held.test' }]]),
  ),
  'mx.held.test A': ['127.0.0.1'],
}

/** A recipient that the provider was asked for. */
interface Asked {
  readonly from: string
  readonly atMs: number
}

test('what a bucket grants in a minute, whenever it begins, is within the limit', () => {
  expect(bucket.burst + 60 * bucket.perSecond).toBeLessThanOrEqual(LIMITS.recipientsPerMinute)
})

describe.each(backends())('with limits in $name', ({ redisUrl }) => {
  test('two workers with an address each ask a provider twice as much, and neither more than its own', async () => {
    const { asked, fromMs } = await askBySources([['127.0.0.2'], ['127.0.0.3']], redisUrl)
    expect(new Set(asked.map(({ from }) => from))).toEqual(new Set(['127.0.0.2', '127.0.0.3']))
    expect(asked.length).toBeGreaterThanOrEqual(2 * bucket.burst)
    for (const address of ['127.0.0.2', '127.0.0.3']) {
      const own = asked.filter(({ from }) => from === address)
      expect(own.length).toBeGreaterThanOrEqual(bucket.burst)
      expectWithin(own, fromMs)
    }
  })

  test.each([
    { name: 'that leave from the same address', sources: ['127.0.0.2'] },
    { name: 'without one', sources: [] },
  ])('two workers $name share what a provider allows', async ({ sources }) => {
    const { asked, fromMs } = await askBySources([sources, sources], redisUrl)
    expect(asked.length).toBeGreaterThanOrEqual(bucket.burst)
    expectWithin(asked, fromMs)
  })
})

/** No more was asked up to any moment than the bucket had granted since the beginning. */
function expectWithin(asked: readonly Asked[], fromMs: number): void {
  for (const [before, { atMs }] of asked.entries()) {
    const granted = bucket.burst + ((atMs - fromMs) / 1_000) * bucket.perSecond
    expect(before + 1).toBeLessThanOrEqual(granted)
  }
}

/** Has a worker for each list of addresses ask for many recipients, twice, all at the same time. */
async function askBySources(
  workers: readonly (readonly string[])[],
  redisUrl: string | undefined,
): Promise<{ readonly asked: readonly Asked[]; readonly fromMs: number }> {
  await using stack = new AsyncDisposableStack()
  const asked: Asked[] = []
  const recipient: SmtpScript['recipient'] = (_, { remote }) => {
    asked.push({ from: remote, atMs: performance.now() })
    return '250 2.1.5 ok'
  }
  const smtp = stack.use(await startSmtp({ recipient }))
  const open = await storesOf(redisUrl, stack)
  const engines: Engine<'email'>[] = []
  for (const sourceAddresses of workers) {
    const { memory, limiter } = stack.use(await open())
    const sender = { heloName: 'verifier.sender.test', mailFrom: 'verify@sender.test' }
    const options = { memory, limiter, limits: LIMITS, times: TIMES }
    const address = { port: smtp.port, ...sender, sourceAddresses }
    engines.push(stack.use(testEngine(smtp.port, ZONE, { ...options, smtp: address })))
  }
  const fromMs = performance.now()
  await Promise.all(
    engines.map(async (engine, worker) => {
      for (const round of ['first', 'second']) {
        const subjects = DOMAINS.flatMap((domain) =>
          Array.from({ length: 20 }, (_, at) => `${round}${at}.${worker}@${domain}`),
        )
        const signal = new AbortController().signal
        const answers = await ask(engine, subjects, { lane: 'bulk', signal })
        // What nobody has asked yet waits for room, and for nothing else.
        const waits = answers.filter((answer) => answer.kind === 'later')
        expect(waits.length).toBeGreaterThan(0)
        expect(new Set(waits.map(({ reason }) => reason))).toEqual(new Set(['rate_limited']))
      }
    }),
  )
  return { asked, fromMs }
}

/** Gives each worker connections of its own to one store. */
async function storesOf(
  redisUrl: string | undefined,
  stack: AsyncDisposableStack,
): Promise<() => Promise<TestQueue>> {
  if (redisUrl !== undefined) {
    const prefix = `test-${randomBytes(6).toString('hex')}`
    return () => openRedisTestQueue(redisUrl, prefix)
  }
  const database = stack.use(await createTestDatabase())
  return () => openPostgresTestQueue(database.url)
}
