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

// Two workers ask the hosts of one provider for more than its limit allows. Their limits are shared
// through a real store, and a server on loopback records when and from which address each recipient
// was asked about.

const LIMITS = {
  recipientsPerMinute: 40,
  // Only the limit delays a probe, however slow the machine is.
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

/** Domains whose mail the provider receives, and their zone. */
const DOMAINS = ['a.test', 'b.test', 'c.test']
const ZONE = {
  ...Object.fromEntries(
    DOMAINS.map((domain) => [`${domain} MX`, [{ preference: 10, exchange: 'mx.held.test' }]]),
  ),
  'mx.held.test A': ['127.0.0.1'],
}

/** A recipient that the provider was asked about. */
interface Asked {
  readonly from: string
  readonly atMs: number
}

test('what a bucket grants in any minute is within the limit', () => {
  expect(bucket.burst + 60 * bucket.perSecond).toBeLessThanOrEqual(LIMITS.recipientsPerMinute)
})

describe.each(backends())('with limits in $name', ({ redisUrl }) => {
  test('two workers with an address each ask a provider twice as often as one, and neither more than its own limit', async () => {
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
  ])('two workers $name share the limit of a provider', async ({ sources }) => {
    const { asked, fromMs } = await askBySources([sources, sources], redisUrl)
    expect(asked.length).toBeGreaterThanOrEqual(bucket.burst)
    expectWithin(asked, fromMs)
  })
})

/** At no moment had the workers asked more than the bucket had granted since the beginning. */
function expectWithin(asked: readonly Asked[], fromMs: number): void {
  for (const [before, { atMs }] of asked.entries()) {
    const granted = bucket.burst + ((atMs - fromMs) / 1_000) * bucket.perSecond
    expect(before + 1).toBeLessThanOrEqual(granted)
  }
}

/**
 * Starts a worker for each list of source addresses; all ask about many recipients, twice, at the
 * same time.
 */
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
        // A recipient that was not asked about waits for the limit, and for nothing else.
        const waits = answers.filter((answer) => answer.kind === 'later')
        expect(waits.length).toBeGreaterThan(0)
        expect(new Set(waits.map(({ reason }) => reason))).toEqual(new Set(['rate_limited']))
      }
    }),
  )
  return { asked, fromMs }
}

/** Opens connections to one store for each worker. */
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
