import { SilenceError } from '@plumbline/concurrency/silence'
import type { Channel, ReplyChannel } from '@plumbline/ports/channel'
import { createPostgresReplyChannel } from '@plumbline/db/channel-replies'
import { openDatabase } from '@plumbline/db/database'
import { describe, expect, test, vi } from 'vitest'
import {
  openPostgresHarness,
  openRedisHarness,
  type QueueHarness,
} from '@plumbline/testkit/queue-harness'
import { emailOutcome } from '@plumbline/testkit/outcomes'
import { PATIENT, PATIENT_LIMITS } from '@plumbline/testkit/patience'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import type { ConsumerOptions, QueueBackend } from './backend.ts'
import { depth } from './jobs.ts'
import { writeLiveJob, type Question } from './live-protocol.ts'
import { serveLive } from './live-server.ts'
import { createLiveCaller, type LiveCaller } from './live-caller.ts'
import { createRedisReplyChannel } from './redis-reply-channel.ts'
import { WITHOUT_REDIS } from '@plumbline/testkit/without-redis'
import { soakSize } from '@plumbline/testkit/soak'

/** Calls of the test that kills a worker and empties the queue. */
const CALLS = soakSize(20_000, 2_000)

describe.skipIf(WITHOUT_REDIS)('live calls on Redis', () => {
  testLive(openRedisHarness)

  test('a reply whose announcement was lost is fetched later', async () => {
    await using place = await openRedisHarness()
    await using queue = await place.open()
    const { redis, channel } = queue.backend
    if (redis === null) throw new Error('a queue on Redis has a server')
    await expectFetched(queue.backend, createRedisReplyChannel(redis, mute(channel)))
  })
})

describe('live calls on Postgres', () => {
  testLive(openPostgresHarness)

  test('a reply whose announcement was lost is fetched later', async () => {
    await using place = await openPostgresHarness()
    await using queue = await place.open()
    await using database = await createTestDatabase()
    await using db = openDatabase({ url: database.url, poolSize: 2, applicationName: 'test' })
    await expectFetched(queue.backend, createPostgresReplyChannel(db, mute(queue.backend.channel)))
  })
})

function testLive(stage: () => Promise<QueueHarness>): void {
  test(`${CALLS} calls at 64 at a time are all answered, though a worker is killed and the queue emptied`, async () => {
    await using place = await stage()
    await using queue = await place.open()
    await using caller = await createLiveCaller(queue.backend, { onError: () => {} })
    await using first = await place.startWorker('answer')
    let answered = 0
    let begun = 0
    const incidents: Promise<unknown>[] = []
    async function call(): Promise<void> {
      while (begun < CALLS) {
        begun += 1
        if (begun === CALLS * 0.25)
          incidents.push(first.kill().then(() => place.startWorker('answer')))
        if (begun === CALLS * 0.6) incidents.push(place.empty())
        const subject = `person${begun}@example.com`
        const outcome = await ask(caller, subject)
        expect(outcome.facts.address).toBe(subject)
        answered += 1
      }
    }
    try {
      await Promise.all(Array.from({ length: 64 }, call))
    } finally {
      await Promise.all(incidents)
    }
    expect(answered).toBe(CALLS)
  })

  test('each question gets its own outcome as soon as it is known', async () => {
    await using place = await stage()
    await using queue = await place.open()
    await using caller = await createLiveCaller(queue.backend, { onError: fail })
    const gate = Promise.withResolvers<void>()
    const waits: number[] = []
    await using _ = await serveLive(
      queue.backend,
      'email',
      async ({ subject }) => {
        if (subject !== 'slow@example.com') {
          return emailOutcome(subject, { long: 'x'.repeat(20_000) })
        }
        await gate.promise
        return emailOutcome(subject)
      },
      { onError: fail, onBegin: (waitedMs) => waits.push(waitedMs) },
    )
    const slow = ask(caller, 'slow@example.com')
    const quick = await Promise.all(
      ['a@example.com', 'b@example.com'].map((subject) => ask(caller, subject)),
    )
    expect(quick.map(({ facts }) => facts.address)).toEqual(['a@example.com', 'b@example.com'])
    expect(quick[0]?.evidence['long']).toHaveLength(20_000)
    gate.resolve()
    expect((await slow).facts.address).toBe('slow@example.com')
    expect(waits, 'each wait is told once').toHaveLength(3)
    expect(waits.every((ms) => ms >= 0)).toBe(true)
  })

  test('a question whose worker takes long is not sent twice', async () => {
    await using place = await stage()
    await using queue = await place.open()
    await using caller = await createLiveCaller(queue.backend, { onError: fail })
    let count = 0
    await using _ = await serveLive(
      queue.backend,
      'email',
      async ({ subject }) => {
        count += 1
        const began = performance.now()
        await vi.waitFor(() => expect(performance.now() - began).toBeGreaterThan(4_500), PATIENT)
        return emailOutcome(subject)
      },
      { onError: fail },
    )
    await ask(caller, 'slow@example.com')
    expect(count).toBe(1)
  })

  test('a question that fails its workers is refused; the others of its job are answered', async () => {
    await using place = await stage()
    await using queue = await place.open()
    await using caller = await createLiveCaller(queue.backend, { onError: fail })
    // Sent before there is a worker, so that several share a job.
    const subjects = ['bad@example.com', ...Array.from({ length: 9 }, (_, n) => `${n}@example.com`)]
    const asked = Promise.allSettled(subjects.map((subject) => ask(caller, subject)))
    await using _ = await serveLive(
      queue.backend,
      'email',
      async ({ subject }) => {
        if (subject === 'bad@example.com') throw new Error('a bug')
        return emailOutcome(subject)
      },
      { onError: () => {} },
    )
    const [bad, ...good] = await asked
    expect(bad).toMatchObject({ status: 'rejected', reason: { code: 'internal' } })
    expect(good.map(({ status }) => status)).toEqual(good.map(() => 'fulfilled'))
  })

  test('a question that its worker refuses is refused, and the next one of its account is asked', async () => {
    await using place = await stage()
    await using queue = await place.open()
    await using caller = await createLiveCaller(queue.backend, { onError: fail })
    await using _ = await serveLive(
      queue.backend,
      'email',
      async ({ subject }) => (subject === 'full@a.example' ? 'refused' : emailOutcome(subject)),
      { onError: fail },
    )
    await expect(ask(caller, 'full@a.example')).rejects.toMatchObject({
      code: 'too_many_requests',
      limit: 'slow_share',
      retryAfterSeconds: 1,
    })
    expect(caller.refusal(questionOf('').account, ['email'])).toBeNull()
    expect((await ask(caller, 'one@b.example')).facts.address).toBe('one@b.example')
  })

  test('without a worker a call ends at its time limit, and is not worked on later', async () => {
    await using place = await stage()
    await using queue = await place.open()
    await using caller = await createLiveCaller(queue.backend, { onError: fail })
    const limits = { waitMs: 300, budgetMs: 100 }
    const late = caller.ask('email', questionOf('late@example.com'), limits)
    await expect(late).rejects.toMatchObject({ code: 'timeout' })
    const seen: string[] = []
    await using _ = await serveLive(
      queue.backend,
      'email',
      async ({ subject }) => {
        seen.push(subject)
        return emailOutcome(subject)
      },
      { onError: fail },
    )
    await ask(caller, 'later@example.com')
    expect(seen).toEqual(['later@example.com'])
  })

  test('without a worker the queue holds no job of a call that has ended', async () => {
    await using place = await stage()
    await using queue = await place.open()
    await using caller = await createLiveCaller(queue.backend, { onError: fail })
    const asked = Array.from({ length: 200 }, (_, no) =>
      caller.ask('email', questionOf(`a${no}@example.com`), { waitMs: 300, budgetMs: 100 }),
    )
    const ends = await Promise.allSettled(asked)
    expect(ends.filter(({ status }) => status === 'fulfilled')).toEqual([])
    await vi.waitFor(() => expectWaiting(queue.backend, 0), PATIENT)
  })

  test('the queue holds no job of a call that was refused while its server did not reply', async () => {
    await using place = await stage()
    await using queue = await place.open()
    let isAway = false
    const { replyChannel } = queue.backend
    const backend: QueueBackend = {
      ...queue.backend,
      replyChannel: {
        ...replyChannel,
        async listen(replyTo, onReply) {
          const replies = await replyChannel.listen(replyTo, onReply)
          const fetchMissed = async (): Promise<void> => {
            if (isAway) throw new Error('no reply')
            await replies.fetchMissed()
          }
          return { ...replies, fetchMissed }
        },
      },
    }
    await using caller = await createLiveCaller(backend, { onError: () => {} })
    const refused = ask(caller, 'a@example.com').catch((error: unknown) => error)
    await vi.waitFor(() => expectWaiting(queue.backend, 1), PATIENT)
    isAway = true
    expect(await refused).toMatchObject({ code: 'unavailable' })
    await expectWaiting(queue.backend, 1)
    isAway = false
    await vi.waitFor(() => expectWaiting(queue.backend, 0), PATIENT)
  })

  test('the queue holds no job of a calling process that has stopped', async () => {
    await using place = await stage()
    await using queue = await place.open()
    const caller = await createLiveCaller(queue.backend, { onError: fail })
    const refused = ask(caller, 'a@example.com').catch((error: unknown) => error)
    await vi.waitFor(() => expectWaiting(queue.backend, 1), PATIENT)
    await caller[Symbol.asyncDispose]()
    expect(await refused).toMatchObject({ code: 'unavailable' })
    await expectWaiting(queue.backend, 0)
  })

  test('the run ends at its time limit', async () => {
    await using place = await stage()
    await using queue = await place.open()
    await using caller = await createLiveCaller(queue.backend, { onError: fail })
    await using _ = await serveLive(
      queue.backend,
      'email',
      async ({ subject, signal }) => {
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
        return emailOutcome(subject)
      },
      { onError: fail },
    )
    // Long enough that a busy machine has begun by then: a question that arrives too late is not
    // begun at all.
    const outcome = caller.ask('email', questionOf('a@example.com'), {
      ...PATIENT_LIMITS,
      budgetMs: 2_000,
    })
    expect((await outcome).facts.address).toBe('a@example.com')
  })

  test('a worker has more than one job active only while jobs wait long in the queue', async () => {
    await using place = await stage()
    await using queue = await place.open()
    const consumers: ConsumerOptions[] = []
    const backend: QueueBackend = {
      ...queue.backend,
      consumer(options) {
        consumers.push(options)
        return queue.backend.consumer(options)
      },
    }
    const answer = async ({ subject }: Question) => emailOutcome(subject)
    await using _ = await serveLive(backend, 'email', answer, { onError: fail })
    async function maxActiveAfter(queuedForMs: number): Promise<unknown> {
      const [consumer] = consumers
      const queuedMs = backend.clock.nowMs() - queuedForMs
      const late = { ...questionOf('late@example.com'), id: 1, untilMs: 0 }
      const data = writeLiveJob({ replyTo: 'nobody', queuedMs, questions: [late] })
      await consumer?.process({ id: 'job', data, signal: new AbortController().signal })
      return typeof consumer?.concurrency === 'function' ? consumer.concurrency() : null
    }
    // The clock of the calling process may be ahead.
    expect(await maxActiveAfter(-1_000)).toBe(1)
    expect(await maxActiveAfter(1_000)).toBe(8)
    expect(await maxActiveAfter(-1_000)).toBe(1)
  })

  test('a question with little time left does not shorten the time of the others in its job', async () => {
    await using place = await stage()
    await using queue = await place.open()
    await using caller = await createLiveCaller(queue.backend, { onError: fail })
    // Sent before there is a worker: the first has a job to itself, and the others share one.
    const first = ask(caller, 'first@example.com')
    const short = caller
      .ask('email', questionOf('short@example.com'), { ...PATIENT_LIMITS, budgetMs: 2_000 })
      .catch(() => undefined)
    const long = ask(caller, 'long@example.com')
    let wasAborted = false
    await using _ = await serveLive(
      queue.backend,
      'email',
      async ({ subject, signal }) => {
        if (subject === 'short@example.com') {
          await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
        } else if (subject === 'long@example.com') {
          await short
          wasAborted = signal.aborted
        }
        return emailOutcome(subject)
      },
      { onError: fail },
    )
    await Promise.all([first, short, long])
    expect(wasAborted).toBe(false)
  })

  test('a failure that is received twice counts once', async () => {
    await using place = await stage()
    await using queue = await place.open()
    const backend = { ...queue.backend, replyChannel: deliveredTwice(queue.backend.replyChannel) }
    await using caller = await createLiveCaller(backend, { onError: fail })
    let runs = 0
    await using _ = await serveLive(
      queue.backend,
      'email',
      async ({ subject }) => {
        runs += 1
        if (runs === 1) throw new Error('a bug')
        return emailOutcome(subject)
      },
      { onError: () => {} },
    )
    expect((await ask(caller, 'a@example.com')).facts.address).toBe('a@example.com')
    expect(runs).toBe(2)
  })

  test('a question that its worker does not answer in time is late, not failed', async () => {
    await using place = await stage()
    await using queue = await place.open()
    await using caller = await createLiveCaller(queue.backend, { onError: fail })
    let runs = 0
    await using _ = await serveLive(
      queue.backend,
      'email',
      async ({ signal }) => {
        runs += 1
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
        return undefined
      },
      { onError: fail },
    )
    const limits = { waitMs: 2_500, budgetMs: 1_500 }
    const asked = caller.ask('email', questionOf('a@example.com'), limits)
    await expect(asked).rejects.toMatchObject({ code: 'timeout' })
    expect(runs).toBe(1)
  })

  test('a question that a closing worker interrupts is answered by another, a known outcome is sent', async () => {
    await using place = await stage()
    await using queue = await place.open()
    await using caller = await createLiveCaller(queue.backend, { onError: fail })
    const begun: string[] = []
    const first = await serveLive(
      queue.backend,
      'email',
      async ({ subject, signal }) => {
        begun.push(subject)
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
        const known = emailOutcome(subject, { worker: 'first' })
        if (subject === 'paid@example.com') return known
        if (subject === 'thrown@example.com') throw new Error('interrupted')
        return { ...known, status: 'unknown', reason: 'timeout' }
      },
      { onError: () => {}, graceMs: 100 },
    )
    const subjects = ['slow@example.com', 'thrown@example.com', 'paid@example.com']
    const asked = Promise.all(subjects.map((subject) => ask(caller, subject)))
    await vi.waitFor(() => expect(begun.toSorted()).toEqual(subjects.toSorted()), PATIENT)
    const closed = first[Symbol.asyncDispose]()
    await using _ = await serveLive(
      queue.backend,
      'email',
      async ({ subject }) => emailOutcome(subject, { worker: 'second' }),
      { onError: fail },
    )
    const outcomes = await asked
    expect(outcomes.map(({ evidence }) => evidence['worker'])).toEqual([
      'second',
      'second',
      'first',
    ])
    expect(outcomes.map(({ status }) => status)).toEqual(outcomes.map(() => 'deliverable'))
    await closed
  })

  test('a question that two closing workers interrupt in turn is answered by a third', async () => {
    await using place = await stage()
    await using queue = await place.open()
    await using caller = await createLiveCaller(queue.backend, { onError: fail })
    const begun: string[] = []
    const startSlow = (worker: string): Promise<AsyncDisposable> =>
      serveLive(
        queue.backend,
        'email',
        async ({ signal }) => {
          begun.push(worker)
          await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
          return undefined
        },
        { onError: fail, graceMs: 0 },
      )
    const first = await startSlow('first')
    const asked = ask(caller, 'a@example.com')
    await vi.waitFor(() => expect(begun).toEqual(['first']), PATIENT)
    await first[Symbol.asyncDispose]()
    const second = await startSlow('second')
    await vi.waitFor(() => expect(begun).toEqual(['first', 'second']), PATIENT)
    await second[Symbol.asyncDispose]()
    await using _ = await serveLive(
      queue.backend,
      'email',
      async ({ subject }) => emailOutcome(subject, { worker: 'third' }),
      { onError: fail },
    )
    expect((await asked).evidence['worker']).toBe('third')
  })

  test('calls are answered again after every connection was cut', async () => {
    await using place = await stage()
    await using queue = await place.open()
    const trouble: unknown[] = []
    const onError = (error: unknown): void => void trouble.push(error)
    await using caller = await createLiveCaller(queue.backend, { onError })
    await using _ = await serveLive(
      queue.backend,
      'email',
      async ({ subject }) => emailOutcome(subject),
      { onError },
    )
    await ask(caller, 'before@example.com')
    await place.cut()
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, n) => ask(caller, `${n}@example.com`)),
    )
    expect(outcomes.map(({ facts }) => facts.address)).toHaveLength(20)
    // Announced, not only fetched by the sweep: the channel is listening again.
    await vi.waitFor(async () => {
      const heard: string[] = []
      const { channel } = queue.backend
      await using _ = await channel.subscribe('again', (text) => heard.push(text))
      await channel.publish('again', ['x'])
      await vi.waitFor(() => expect(heard).toEqual(['x']))
    }, PATIENT)
  })

  test('more questions than the limit are refused at once', async () => {
    await using place = await stage()
    await using queue = await place.open()
    const caller = await createLiveCaller(queue.backend, { onError: fail, maxWaiting: 1 })
    const first = ask(caller, 'a@example.com')
    await expect(ask(caller, 'b@example.com')).rejects.toMatchObject({ code: 'unavailable' })
    // Refused while the caller closes, so both are awaited together.
    await Promise.all([
      expect(first).rejects.toMatchObject({ code: 'unavailable' }),
      caller[Symbol.asyncDispose](),
    ])
  })
}

function ask(caller: LiveCaller, subject: string) {
  return caller.ask('email', questionOf(subject), PATIENT_LIMITS)
}

function questionOf(subject: string): Question {
  return { subject, depth: 'basic', account: 'account' }
}

async function expectWaiting(backend: QueueBackend, count: number): Promise<void> {
  expect((await depth(backend, 'live-email')).waiting).toBe(count)
}

/** A channel that delivers each reply twice, as one announced and fetched in the same moment. */
function deliveredTwice(replyChannel: ReplyChannel): ReplyChannel {
  return {
    ...replyChannel,
    listen: (replyTo, onReply) =>
      replyChannel.listen(replyTo, (reply) => {
        onReply(reply)
        onReply(reply)
      }),
  }
}

/** On a busy machine a server may seem silent for a moment; the question is sent again. */
function fail(error: unknown): void {
  if (!(error instanceof SilenceError)) throw error
}

/** A channel that delivers nothing. */
function mute(channel: Channel): Channel {
  return {
    ...channel,
    publish: async () => {},
    subscribe: (topic) => channel.subscribe(`${topic}-x`, () => {}),
  }
}

async function expectFetched(backend: QueueBackend, replyChannel: ReplyChannel): Promise<void> {
  const muted = { ...backend, replyChannel }
  await using caller = await createLiveCaller(muted, { onError: fail })
  let runs = 0
  await using _ = await serveLive(
    muted,
    'email',
    async ({ subject }) => {
      runs += 1
      return emailOutcome(subject)
    },
    { onError: fail },
  )
  expect((await ask(caller, 'a@example.com')).facts.address).toBe('a@example.com')
  // Fetched from the store of replies; the question is not sent again.
  expect(runs).toBe(1)
}
