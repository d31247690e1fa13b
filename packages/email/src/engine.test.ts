import { describe, expect, test } from 'vitest'
import type { Answer } from '@plumbline/ports/engine'
import type { Limiter } from '@plumbline/ports/limiter'
import { ask, brief, outcomeOf, testEngine, testLists, zoneOf } from './engine-fixture.ts'
import { probeResultKey } from './probe-cache.ts'
import { processLimiter, processMemory, startSmtp } from './smtp-fixture.ts'
import type { SmtpScript } from './smtp-fixture.ts'

const DAY_MS = 86_400_000

/** A server where the first letters of a name say what its mailbox is. */
const ORDINARY: SmtpScript = {
  recipient(address) {
    if (address.startsWith('ok') || address.startsWith('postmaster')) return '250 2.1.5 ok'
    if (address.startsWith('full')) return '552 5.2.2 mailbox is full'
    if (address.startsWith('off')) return '550 5.2.1 this account has been disabled'
    if (address.startsWith('grey')) return '450 4.2.0 Greylisted, try again in 60 seconds'
    if (address.startsWith('odd')) return '550 Requested action not taken'
    return `550 5.1.1 <${address}>: Recipient address rejected: User unknown in local recipient table`
  },
}

const zone = zoneOf({
  'a.test': '127.0.0.1',
  'throwaway.test': '127.0.0.1',
  'relay.test': '127.0.0.1',
  'free.test': '127.0.0.1',
  'optout.test': '127.0.0.1',
  'trap.test': '127.0.0.1',
})

const count = (lines: readonly string[], verb: string): number =>
  lines.filter((line) => line.startsWith(verb)).length

/** A limiter that counts the recipients that it grants; after so many takes it grants none. */
function recordGrants(
  limiter: Limiter,
  takes = Number.POSITIVE_INFINITY,
): { readonly limiter: Limiter; sum(): number } {
  let [granted, sum] = [0, 0]
  return {
    limiter: {
      ...limiter,
      async take(key, wanted, rate) {
        if (!key.startsWith('email:recipients:')) return await limiter.take(key, wanted, rate)
        if (granted >= takes) return { granted: false, retryMs: 60_000 }
        const grant = await limiter.take(key, wanted, rate)
        if (grant.granted) [granted, sum] = [granted + 1, sum + wanted]
        return grant
      },
    },
    sum: () => sum,
  }
}

function later(answer: Answer<'email'> | undefined): Extract<Answer<'email'>, { kind: 'later' }> {
  if (answer?.kind !== 'later')
    throw new Error(`expected later, got ${JSON.stringify(brief(answer))}`)
  return answer
}

describe('results and their evidence', () => {
  test.each([
    ['ok@a.test', 'deliverable', 'accepted', 'accepted', true],
    ['nobody@a.test', 'undeliverable', 'mailbox_not_found', 'missing', false],
    ['full@a.test', 'risky', 'mailbox_full', 'full', false],
    ['off@a.test', 'undeliverable', 'mailbox_disabled', 'disabled', false],
    ['grey@a.test', 'unknown', 'greylisted', 'unknown', null],
    ['odd@a.test', 'unknown', 'unclassified_reply', 'unknown', null],
    ['ada@[192.0.2.1]', 'unknown', 'domain_literal', 'unknown', null],
    ['zoë@a.test', 'unknown', 'smtputf8_unsupported', 'unknown', null],
    ['ok@optout.test', 'unknown', 'opted_out', 'unknown', null],
    ['no mailbox', 'undeliverable', 'invalid_syntax', 'unknown', null],
    ['ok@nowhere.test', 'undeliverable', 'no_domain', 'unknown', false],
  ])('%s is %s, %s', async (subject, status, reason, mailbox, smtpValid) => {
    await using smtp = await startSmtp(ORDINARY)
    await using engine = testEngine(smtp.port, zone)
    const { facts, ...outcome } = outcomeOf((await ask(engine, [subject]))[0])
    expect([outcome.status, outcome.reason, facts.mailbox, facts.smtpValid]).toEqual([
      status,
      reason,
      mailbox,
      smtpValid,
    ])
    expect(facts.address).toBe(subject)
  })

  test('a refusal shows phase, codes, host and the masked text', async () => {
    await using smtp = await startSmtp(ORDINARY)
    await using engine = testEngine(smtp.port, zone)
    const outcome = outcomeOf((await ask(engine, ['nobody@a.test']))[0])
    expect(outcome.evidence).toEqual({
      mx_host: 'mx.a.test',
      mx_address: '127.0.0.1',
      provider: 'other',
      phase: 'rcpt',
      reply_code: 550,
      enhanced_code: '5.1.1',
      reply_text: '<***@a.test>: Recipient address rejected: User unknown in local recipient table',
      tls: false,
    })
  })

  test('flags of the lists never change the result', async () => {
    await using smtp = await startSmtp(ORDINARY)
    await using engine = testEngine(smtp.port, zone)
    const subjects = [
      'ok@throwaway.test',
      'ok@relay.test',
      'ok@free.test',
      'info+x@a.test',
      '"info"@a.test',
      'honeybee@a.test',
      '"honeybee"@a.test',
      'known@trap.test',
    ]
    const outcomes = (await ask(engine, subjects)).map((answer) => {
      const { facts } = outcomeOf(answer)
      return [facts.disposable, facts.freeProvider, facts.roleAccount, facts.spamTrap]
    })
    expect(outcomes).toEqual([
      [true, false, false, false],
      [false, false, false, false],
      [false, true, false, false],
      [false, false, true, false],
      [false, false, true, false],
      [false, false, false, true],
      [false, false, false, true],
      [false, false, false, true],
    ])
  })

  test('a typo of a large provider is suggested', async () => {
    await using smtp = await startSmtp(ORDINARY)
    await using engine = testEngine(smtp.port, zone)
    const outcome = outcomeOf((await ask(engine, ['ada@gamil.com']))[0])
    expect(outcome.evidence['did_you_mean']).toBe('gmail.com')
  })

  test.each([
    ['a throwaway name is suggested', 'gmial.com', 'gmail.com'],
    [
      'a name without mail is suggested, though a list of free providers has it',
      'yaho.com',
      'yahoo.com',
    ],
    ['a free provider with mail hosts is not suggested', 'gotmail.com', undefined],
  ])('of listed names, %s', async (_, domain, suggested) => {
    await using smtp = await startSmtp(ORDINARY)
    const mail = zoneOf({ 'gmial.com': '127.0.0.1', 'gotmail.com': '127.0.0.1' })
    await using engine = testEngine(smtp.port, mail, {
      lists: testLists({ disposable: ['gmial.com'], free: ['yaho.com', 'gotmail.com'] }),
    })
    const outcome = outcomeOf((await ask(engine, [`ok@${domain}`]))[0])
    expect(outcome.evidence['did_you_mean']).toBe(suggested)
  })

  test('answers are in the order of the subjects and are reported one by one', async () => {
    await using smtp = await startSmtp(ORDINARY)
    await using engine = testEngine(smtp.port, zone, { limits: { recipientsPerMinute: 1e6 } })
    const subjects = Array.from({ length: 300 }, (_, n) =>
      n % 3 === 0 ? `bad ${n}` : `${n % 3 === 1 ? 'ok' : 'no'}${n}@a.test`,
    )
    const told = new Map<number, string>()
    const answers = await ask(engine, subjects, {
      lane: 'bulk',
      answered: (index, answer) => told.set(index, outcomeOf(answer).facts.address),
    })
    expect(answers.map((answer) => outcomeOf(answer).facts.address)).toEqual(subjects)
    expect([...told].toSorted((a, b) => a[0] - b[0]).map(([, text]) => text)).toEqual(subjects)
  })

  test('an answer names the provider group whose limit it used, unless no server was asked', async () => {
    await using smtp = await startSmtp(ORDINARY)
    await using engine = testEngine(smtp.port, zone)
    const groupsOf = async (subjects: readonly string[]): Promise<readonly unknown[]> => {
      const told: unknown[] = []
      const answered = (index: number, _: unknown, group?: string) => (told[index] = group)
      await ask(engine, subjects, { lane: 'bulk', answered })
      return told
    }
    const subjects = ['ok@a.test', 'no mailbox', 'ok@nowhere.test', 'nobody@free.test']
    const asked = ['mx:a.test', undefined, undefined, 'mx:free.test']
    expect(await groupsOf(subjects)).toEqual(asked)
    expect(await groupsOf(['ok@a.test'])).toEqual([undefined])
  })
})

describe('accept-all', () => {
  const acceptsAll: SmtpScript = {}

  test('basic asks for the one recipient only', async () => {
    await using smtp = await startSmtp(acceptsAll)
    await using engine = testEngine(smtp.port, zone)
    const outcome = outcomeOf((await ask(engine, ['ok@a.test']))[0])
    expect([outcome.status, outcome.facts.catchAll, outcome.facts.confidence]).toEqual([
      'deliverable',
      null,
      'medium',
    ])
    expect(count(smtp.lines, 'RCPT')).toBe(1)
  })

  test('extended probes a random mailbox once, last, and caches the result for basic', async () => {
    await using smtp = await startSmtp(acceptsAll)
    await using engine = testEngine(smtp.port, zone)
    const first = outcomeOf((await ask(engine, ['ok1@a.test'], { depth: 'extended' }))[0])
    expect([first.status, first.reason, first.facts.catchAll]).toEqual([
      'risky',
      'accept_all',
      true,
    ])
    expect(smtp.lines.filter((line) => line.startsWith('RCPT'))[1]).toMatch(
      /^RCPT TO:<[a-z][a-z0-9]{19}@a\.test>$/,
    )
    const second = outcomeOf((await ask(engine, ['ok2@a.test']))[0])
    expect([second.reason, second.facts.catchAll]).toEqual(['accept_all', true])
    expect(count(smtp.lines, 'RCPT')).toBe(3)
  })

  test('many connections to one domain probe one random mailbox', async () => {
    await using smtp = await startSmtp(ORDINARY)
    await using engine = testEngine(smtp.port, zone, {
      limits: { startConnections: 4, recipientsPerMinute: 1e6 },
    })
    const subjects = Array.from({ length: 200 }, (_, n) => `ok${n}@a.test`)
    const answers = await ask(engine, subjects, { depth: 'extended', lane: 'bulk' })
    expect(new Set(answers.map(brief))).toEqual(new Set(['deliverable accepted']))
    expect(new Set(answers.map((answer) => outcomeOf(answer).facts.catchAll))).toEqual(
      new Set([false]),
    )
    expect(count(smtp.lines, 'RCPT')).toBe(201)
  })

  test('no random mailbox is probed if the real one was refused', async () => {
    await using smtp = await startSmtp(ORDINARY)
    await using engine = testEngine(smtp.port, zone)
    const outcome = outcomeOf((await ask(engine, ['nobody@a.test'], { depth: 'extended' }))[0])
    expect([outcome.facts.catchAll, count(smtp.lines, 'RCPT')]).toEqual([false, 1])
  })

  test('a missing mailbox makes it unknown whether a domain accepts all names', async () => {
    const names = /^(?:nobody|postmaster)@/
    await using smtp = await startSmtp({
      recipient: (address) =>
        names.test(address) ? `550 5.1.1 <${address}>: User unknown` : '250 2.1.5 ok',
    })
    await using engine = testEngine(smtp.port, zone)
    const of = async (address: string, depth: 'basic' | 'extended' = 'basic') =>
      outcomeOf((await ask(engine, [address], { depth }))[0]).facts.catchAll
    expect(await of('ok1@a.test', 'extended')).toBe(true)
    expect(await of('nobody@a.test')).toBe(null)
    expect(await of('ok2@a.test')).toBe(null)
  })

  test('a refusal of the random name for the rate proves nothing', async () => {
    await using smtp = await startSmtp({
      recipient: (address) =>
        address.startsWith('ok')
          ? '250 2.1.5 ok'
          : '550 5.7.1 Too many messages, rate limit exceeded',
    })
    await using engine = testEngine(smtp.port, zone)
    const { facts } = outcomeOf((await ask(engine, ['ok@a.test'], { depth: 'extended' }))[0])
    expect([facts.catchAll, facts.confidence]).toEqual([null, 'medium'])
  })

  test('a provider that is known to refuse unknown names is sent none', async () => {
    await using smtp = await startSmtp(ORDINARY)
    const google = {
      'gmail.com MX': [{ preference: 1, exchange: 'gmail-smtp-in.l.google.com' }],
      'gmail-smtp-in.l.google.com A': ['127.0.0.1'],
    }
    await using engine = testEngine(smtp.port, google)
    const { facts } = outcomeOf((await ask(engine, ['ok@gmail.com'], { depth: 'extended' }))[0])
    expect([facts.catchAll, count(smtp.lines, 'RCPT')]).toEqual([false, 1])
  })

  test('a provider that accepts unknown names proves nothing', async () => {
    await using smtp = await startSmtp(acceptsAll)
    const yahoo = {
      'yahoo.com MX': [{ preference: 1, exchange: 'mta5.am0.yahoodns.net' }],
      'mta5.am0.yahoodns.net A': ['127.0.0.1'],
    }
    await using engine = testEngine(smtp.port, yahoo)
    const outcome = outcomeOf((await ask(engine, ['ok@yahoo.com'], { depth: 'extended' }))[0])
    expect([outcome.reason, outcome.facts.confidence, count(smtp.lines, 'RCPT')]).toEqual([
      'accept_means_nothing',
      'low',
      1,
    ])
  })
})

describe('memory', () => {
  test('a mailbox is probed once by all workers together', async () => {
    await using smtp = await startSmtp(ORDINARY)
    const memory = processMemory()
    await using one = testEngine(smtp.port, zone, { memory })
    await using two = testEngine(smtp.port, zone, { memory })
    await ask(one, ['ok@a.test', 'nobody@a.test'])
    const answers = await ask(two, ['ok@a.test', 'nobody@a.test'])
    expect(answers.map((answer) => outcomeOf(answer).cached)).toEqual([true, true])
    expect(answers.map(brief)).toEqual(['deliverable accepted', 'undeliverable mailbox_not_found'])
    expect(count(smtp.lines, 'RCPT')).toBe(2)
  })

  test('a cached result shows when the host was asked, not when it is returned', async () => {
    await using smtp = await startSmtp(ORDINARY)
    let nowMs = Date.parse('2026-11-01T12:00:00Z')
    const memory = processMemory(() => nowMs)
    await using one = testEngine(smtp.port, zone, { memory, clock: () => nowMs })
    const [fresh] = await ask(one, ['ok@a.test'])
    const checkedAt = '2026-11-01T12:00:00.000Z'
    expect(outcomeOf(fresh)).toMatchObject({ cached: false, checkedAt })
    nowMs += 3 * DAY_MS
    await using two = testEngine(smtp.port, zone, { memory, clock: () => nowMs })
    const [told] = await ask(two, ['ok@a.test'])
    expect(outcomeOf(told)).toMatchObject({ cached: true, checkedAt })
  })

  test('a result from cached facts of mailbox and domain has the time of the older fact', async () => {
    await using smtp = await startSmtp({})
    let nowMs = Date.parse('2026-11-01T12:00:00Z')
    const memory = processMemory(() => nowMs)
    const options = { memory, clock: () => nowMs }
    const extended = { depth: 'extended' } as const
    await using engine = testEngine(smtp.port, zone, options)
    await ask(engine, ['first@a.test'], extended)
    nowMs += 2 * DAY_MS
    const fresh = outcomeOf((await ask(engine, ['second@a.test'], extended))[0])
    expect(fresh).toMatchObject({ cached: false, checkedAt: '2026-11-03T12:00:00.000Z' })
    nowMs += DAY_MS
    const both = { cached: true, reason: 'accept_all', checkedAt: '2026-11-01T12:00:00.000Z' }
    expect(outcomeOf((await ask(engine, ['second@a.test'], extended))[0])).toMatchObject(both)
    // Also after the domain's own entry has expired.
    nowMs = Date.parse('2026-11-09T12:00:00Z')
    expect(outcomeOf((await ask(engine, ['second@a.test']))[0])).toMatchObject(both)
    expect(count(smtp.lines, 'RCPT')).toBe(3)
  })

  test('a cached address is as disposable as it was, by whichever of its mail hosts', async () => {
    await using smtp = await startSmtp(ORDINARY)
    const memory = processMemory()
    const hosts = {
      ...zone,
      'two.test MX': [
        { preference: 10, exchange: 'mx.a.test' },
        { preference: 20, exchange: 'mx.throwaway.test' },
      ],
    }
    await using first = testEngine(smtp.port, hosts, { memory })
    await using second = testEngine(smtp.port, hosts, { memory })
    const isDisposable = async (engine: typeof first, subject: string): Promise<unknown> =>
      outcomeOf((await ask(engine, [subject]))[0]).facts.disposable
    expect(await isDisposable(first, 'ok@two.test')).toBe(true)
    expect(await isDisposable(second, 'ok@two.test')).toBe(true)
    expect(await isDisposable(second, 'ok2@two.test')).toBe(true)
    expect(await isDisposable(second, 'ok@two.test')).toBe(true)
  })

  test('a result stored without its time is still returned', async () => {
    const nowMs = Date.parse('2026-11-01T12:00:00Z')
    await using smtp = await startSmtp(ORDINARY)
    const memory = processMemory(() => nowMs)
    const finding = {
      status: 'deliverable',
      reason: 'accepted',
      mailbox: 'accepted',
      smtpValid: true,
      catchAll: null,
      confidence: 'medium',
      evidence: {},
    }
    const ttlMs = DAY_MS
    await memory.set([
      { key: probeResultKey('ok@a.test', 'account', {}), value: finding, ttlMs },
      { key: 'email:accept-all:a.test', value: 'no', ttlMs },
    ])
    await using engine = testEngine(smtp.port, zone, { memory, clock: () => nowMs })
    const told = outcomeOf((await ask(engine, ['ok@a.test'], { depth: 'extended' }))[0])
    const checkedAt = '2026-11-01T12:00:00.000Z'
    expect(told).toMatchObject({ cached: true, facts: { confidence: 'high' }, checkedAt })
    expect(smtp.lines).toEqual([])
  })

  test('an unknown result is not cached', async () => {
    await using smtp = await startSmtp(ORDINARY)
    await using engine = testEngine(smtp.port, zone)
    await ask(engine, ['odd@a.test'])
    expect(outcomeOf((await ask(engine, ['odd@a.test']))[0]).cached).toBe(false)
  })

  test('concurrent requests for the same address share a probe', async () => {
    await using smtp = await startSmtp(ORDINARY)
    await using engine = testEngine(smtp.port, zone)
    const runs = await Promise.all(
      Array.from({ length: 20 }, () => ask(engine, ['ok@a.test', 'ok@a.test'])),
    )
    expect(runs.flat().map(brief)).toEqual(Array.from({ length: 40 }, () => 'deliverable accepted'))
    expect(count(smtp.lines, 'RCPT')).toBe(1)
  })

  test('a failure of the shared memory loses no result', async () => {
    await using smtp = await startSmtp(ORDINARY)
    const fail = (): Promise<never> => Promise.reject(new Error('store is away'))
    await using engine = testEngine(smtp.port, zone, {
      memory: { get: fail, set: fail, claim: fail, delete: fail },
    })
    expect(brief((await ask(engine, ['ok@a.test']))[0])).toBe('deliverable accepted')
  })

  test('probes wait while the shared limiter fails, and none counts against its host', async () => {
    await using smtp = await startSmtp(ORDINARY)
    const limiter = processLimiter()
    let failures = 2
    await using engine = testEngine(smtp.port, zone, {
      limits: { soonMs: 20 },
      limiter: {
        ...limiter,
        take: (...args) =>
          failures-- > 0 ? Promise.reject(new Error('store is away')) : limiter.take(...args),
      },
    })
    expect(brief((await ask(engine, ['ok1@a.test']))[0])).toBe('deliverable accepted')
    failures = Number.POSITIVE_INFINITY
    const [answer] = await ask(engine, ['ok2@a.test'], { lane: 'bulk' })
    expect(answer).toMatchObject({ kind: 'later', reason: 'rate_limited', group: 'mx:a.test' })
  })

  test('results and accept-all facts are stored as cached, so that a full memory need not add them', async () => {
    await using smtp = await startSmtp(ORDINARY)
    const memory = processMemory()
    const stored: string[] = []
    await using engine = testEngine(smtp.port, zone, {
      memory: {
        ...memory,
        set(entries) {
          for (const { key, isCached = false } of entries) {
            stored.push(`${isCached ? 'cached' : 'kept'} ${key}`)
          }
          return memory.set(entries)
        },
      },
    })
    await ask(engine, ['ok@a.test'], { depth: 'extended' })
    expect(stored.toSorted()).toEqual([
      'cached email:accept-all:a.test',
      'cached email:result:ok@a.test',
    ])
  })

  test('an error while results are settled ends the wait for them, but not the process', async () => {
    await using smtp = await startSmtp(ORDINARY)
    const memory = processMemory()
    const errors: unknown[] = []
    await using engine = testEngine(smtp.port, zone, {
      memory: {
        ...memory,
        set(entries) {
          if (entries.some(({ key }) => key.startsWith('email:accept-all:'))) {
            throw new Error('a bug of the store')
          }
          return memory.set(entries)
        },
      },
      log: {
        debug() {},
        info() {},
        warn() {},
        error: (fields) => errors.push(fields),
      },
    })
    expect(brief((await ask(engine, ['gone@a.test']))[0])).toBe('unknown protocol_error')
    expect(errors).toMatchObject([{ err: { message: 'a bug of the store' } }])
  })
})

describe('waiting', () => {
  test('a greylisted subject of a batch is postponed by the delay in the reply, then answered', async () => {
    let greylists = true
    await using smtp = await startSmtp({
      recipient: () => (greylists ? '450 4.2.0 Greylisted, try again in 60 seconds' : '250 ok'),
    })
    await using engine = testEngine(smtp.port, zone)
    const first = later((await ask(engine, ['ok@a.test'], { lane: 'bulk' }))[0])
    expect(first).toMatchObject({
      afterMs: 75_000,
      group: 'greylist:a.test',
      reason: 'greylisted',
      state: { tries: 1 },
    })
    greylists = false
    const states = [first.state]
    const second = outcomeOf((await ask(engine, ['ok@a.test'], { lane: 'bulk', states }))[0])
    expect([second.status, second.evidence['tries']]).toEqual(['deliverable', 2])
  })

  test('a subject that stays greylisted is unknown after the last retry, never invalid', async () => {
    await using smtp = await startSmtp({ recipient: () => '451 4.7.1 Greylisting in action' })
    await using engine = testEngine(smtp.port, zone)
    let states: Answer<'email'>[] = []
    const waits: number[] = []
    for (let round = 0; round < 2; round++) {
      const state = states.map((answer) => later(answer).state)
      states = [...(await ask(engine, ['ok@a.test'], { lane: 'bulk', states: state }))]
      waits.push(later(states[0]).afterMs)
    }
    expect(waits).toEqual([300_000, 900_000])
    const state = states.map((answer) => later(answer).state)
    expect(brief((await ask(engine, ['ok@a.test'], { lane: 'bulk', states: state }))[0])).toBe(
      'unknown greylisted',
    )
  })

  test.each([
    ['a host that is out of reach', 'ok@dead.test', 'connect_failed'],
    ['a host whose address is not told', 'ok@hidden.test', 'dns_failed'],
    ['a domain whose hosts are not told', 'ok@lost.test', 'dns_failed'],
  ])('in a batch %s gets exactly one retry', async (_, subject, reason) => {
    await using smtp = await startSmtp(ORDINARY)
    await using engine = testEngine(smtp.port, {
      ...zone,
      ...zoneOf({ 'dead.test': '127.9.9.9' }),
      'hidden.test MX': [{ preference: 10, exchange: 'mx.hidden.test' }],
      'mx.hidden.test A': 'failed',
      'mx.hidden.test AAAA': 'failed',
      'lost.test MX': 'failed',
    })
    const subjects = [subject, 'ok@a.test']
    const [first, other] = await ask(engine, subjects, { lane: 'bulk' })
    expect(brief(other)).toBe('deliverable accepted')
    const domain = subject.slice(3)
    const waits = { afterMs: 300_000, group: `no_reply:${domain}`, isOwnWait: true, reason }
    expect(later(first)).toMatchObject(waits)
    const states = [later(first).state]
    const second = await ask(engine, [subject], { lane: 'bulk', states })
    expect(second.map(brief)).toEqual([`unknown ${reason}`])
  })

  test('a single call gets the time after which an unreachable host may be tried again', async () => {
    await using engine = testEngine(1, zoneOf({ 'dead.test': '127.9.9.9' }))
    const outcome = outcomeOf((await ask(engine, ['ok@dead.test']))[0])
    expect([outcome.reason, outcome.evidence['retry_after']]).toEqual(['connect_failed', 300])
  })

  test('a server that is busy before RCPT is probed again, too', async () => {
    await using smtp = await startSmtp({
      greeting: '421 4.3.2 Service not available, try again in 60 seconds',
    })
    await using engine = testEngine(smtp.port, zone)
    const subjects = ['ok1@a.test', 'ok2@a.test']
    const waits = (await ask(engine, subjects, { lane: 'bulk' })).map(later)
    expect(waits.map(({ group, afterMs }) => [group, afterMs])).toEqual([
      ['greylist:a.test', 75_000],
      ['greylist:a.test', 75_000],
    ])
    const states = subjects.map(() => ({ tries: 2, since_ms: 1 }))
    const ends = await ask(engine, subjects, { lane: 'bulk', states })
    expect(ends.map(brief)).toEqual(['unknown server_error', 'unknown server_error'])
  })

  test('every address of a server that accepts one connection at a time gets an answer', async () => {
    let open = 0
    await using smtp = await startSmtp({
      greeting: (socket) => {
        if (open > 0) return '421 4.7.0 Too many connections from your address'
        open++
        socket.once('close', () => open--)
        return '220 mx.test ESMTP'
      },
    })
    let nowMs = Date.now()
    await using engine = testEngine(smtp.port, zone, {
      limits: { recipientsPerMinute: 1e6 },
      clock: () => nowMs,
    })
    let left = Array.from({ length: 120 }, (_, n) => `ok${n}@a.test`)
    const outcomes: unknown[] = []
    for (let round = 0; round < 20 && left.length > 0; round++) {
      const answers = await ask(engine, left, { lane: 'bulk' })
      outcomes.push(...answers.map(brief).filter((answer) => answer !== 'later rate_limited'))
      left = left.filter((_, at) => answers[at]?.kind === 'later')
      nowMs += 10_000
    }
    expect(outcomes).toHaveLength(120)
    expect(new Set(outcomes)).toEqual(new Set(['deliverable accepted']))
  })

  test('a live call never waits: it is told that it was greylisted, and when to try again', async () => {
    await using smtp = await startSmtp(ORDINARY)
    await using engine = testEngine(smtp.port, zone)
    const outcome = outcomeOf((await ask(engine, ['grey@a.test']))[0])
    expect([outcome.reason, outcome.evidence['retry_after']]).toEqual(['greylisted', 75])
  })

  test('at the time-out a subject is unknown with the reason timeout, and known facts stay', async () => {
    await using smtp = await startSmtp({ recipient: () => null })
    await using engine = testEngine(smtp.port, zone, {
      times: { recipientMs: 5_000, sessionMs: 5_000 },
    })
    const subjects = ['ok@a.test', 'no mailbox']
    const answers = await ask(engine, subjects, { signal: AbortSignal.timeout(200) })
    expect(answers.map(brief)).toEqual(['unknown timeout', 'undeliverable invalid_syntax'])
    expect(outcomeOf(answers[0]).facts.mxFound).toBe(true)
  })

  test('closing the engine ends its sessions and all waiting probes', async () => {
    const { promise: asked, resolve } = Promise.withResolvers<void>()
    await using smtp = await startSmtp({
      command: (line) => (line.startsWith('MAIL') ? (resolve(), null) : undefined),
    })
    const engine = testEngine(smtp.port, zone, { times: { recipientMs: 60_000 } })
    const run = ask(engine, ['ok@a.test'], { signal: new AbortController().signal })
    await asked
    await engine[Symbol.asyncDispose]()
    expect((await run).map(brief)).toEqual(['unknown timeout'])
  })

  test('a run that is aborted before it begins answers every subject', async () => {
    await using smtp = await startSmtp(ORDINARY)
    await using engine = testEngine(smtp.port, zone)
    const answers = await ask(engine, ['ok@a.test', 'x'], { signal: AbortSignal.abort() })
    expect(answers.map(brief)).toEqual(['unknown timeout', 'undeliverable invalid_syntax'])
  })
})

describe('port 25 and our own names', () => {
  test('dns_only never connects', async () => {
    await using smtp = await startSmtp(ORDINARY)
    await using engine = testEngine(smtp.port, zone, { probing: 'dns_only' })
    const outcome = outcomeOf((await ask(engine, ['ok@a.test']))[0])
    expect([
      outcome.status,
      outcome.reason,
      outcome.facts.confidence,
      outcome.facts.acceptsMail,
    ]).toEqual(['unknown', 'probing_off', 'low', true])
    expect(smtp.sessions.all).toBe(0)
    expect((await engine.health())[0]).toMatchObject({ status: 'off' })
  })

  test('probing can be off for one group', async () => {
    await using smtp = await startSmtp(ORDINARY)
    await using engine = testEngine(smtp.port, zone, { probingOff: ['a.test'] })
    expect((await ask(engine, ['ok@a.test', 'ok@free.test'])).map(brief)).toEqual([
      'unknown probing_off',
      'deliverable accepted',
    ])
  })

  test('a group that is not probed is not probed either for domains whose first hosts are of another', async () => {
    await using smtp = await startSmtp(ORDINARY)
    const split = (first: string, last?: string): readonly unknown[] => [
      { preference: 1, exchange: first },
      { preference: 2, exchange: 'mx.a.test' },
      ...(last === undefined ? [] : [{ preference: 3, exchange: last }]),
    ]
    await using engine = testEngine(
      smtp.port,
      {
        ...zone,
        'silent.test MX': split('mx.silent.test'),
        'mx.silent.test A': ['127.9.9.9'],
        'gone.test MX': split('mx.gone.test'),
        'lost.test MX': split('mx.lost.test', 'mx.missing.test'),
      },
      { probingOff: ['a.test'] },
    )
    const subjects = ['ok@silent.test', 'ok@gone.test', 'ok@lost.test']
    expect((await ask(engine, subjects)).map(brief)).toEqual([
      'unknown connect_failed',
      'unknown probing_off',
      'unknown probing_off',
    ])
    expect(smtp.sessions.all).toBe(0)
  })

  test('while port 25 is blocked results have the reason smtp_unavailable, never invalid', async () => {
    const dead = { ...zoneOf({ 'a.test': '127.9.9.9', 'gmail.com': '127.9.9.8' }) }
    await using engine = testEngine(1, dead, { selfTest: { targets: ['gmail.com'] } })
    const health = await engine.health()
    expect(health.find((row) => row.name.startsWith('smtp port'))).toMatchObject({
      status: 'failed',
    })
    const answers = await ask(engine, ['ok@a.test'])
    expect(answers.map(brief)).toEqual(['unknown smtp_unavailable'])
    expect((await ask(engine, ['nobody@a.test'])).map(brief)).toEqual(['unknown smtp_unavailable'])
  })

  test('while port 25 is blocked a domain whose mail hosts do not exist takes no mail', async () => {
    const hosts = {
      ...zoneOf({ 'a.test': '127.9.9.9', 'gmail.com': '127.9.9.8' }),
      'b.test MX': [{ preference: 10, exchange: 'mx.missing.test' }],
      'c.test MX': [{ preference: 10, exchange: 'mx.c.test' }],
      'mx.c.test A': 'failed' as const,
    }
    await using engine = testEngine(1, hosts, { selfTest: { targets: ['gmail.com'] } })
    await engine.health()
    await ask(engine, ['ok@a.test'])
    const answers = await ask(engine, ['ok@b.test', 'ok@c.test'])
    expect(answers.map(brief)).toEqual(['undeliverable no_mail_host', 'unknown smtp_unavailable'])
  })

  test.each([
    ['no address', 'nodata'],
    ['an address that may not be connected to', ['10.0.0.1']],
    ['an address that its name servers do not tell', 'failed'],
  ] as const)('a mail host with %s says nothing about port 25', async (_, addresses) => {
    const hosts = {
      ...zoneOf({ 'a.test': '127.9.9.9', 'gmail.com': '127.9.9.8' }),
      'b.test MX': [{ preference: 10, exchange: 'mx.b.test' }],
      'mx.b.test A': addresses,
    }
    await using engine = testEngine(1, hosts, { selfTest: { targets: ['gmail.com'] } })
    await engine.health()
    await ask(engine, ['ok@b.test'])
    expect((await ask(engine, ['ok@a.test'])).map(brief)).toEqual(['unknown smtp_unavailable'])
  })

  test('an unreachable host is connect_failed while others are reached', async () => {
    await using smtp = await startSmtp(ORDINARY)
    await using engine = testEngine(smtp.port, { ...zone, ...zoneOf({ 'dead.test': '127.9.9.9' }) })
    expect((await ask(engine, ['ok@dead.test', 'ok@a.test'])).map(brief)).toEqual([
      'unknown connect_failed',
      'deliverable accepted',
    ])
  })

  test('the envelope sender and HELO name are fixed, and no message is ever sent', async () => {
    await using smtp = await startSmtp(ORDINARY)
    await using engine = testEngine(smtp.port, zone)
    await ask(engine, ['ok@a.test', 'no@free.test'], { depth: 'extended' })
    const verbs = new Set(smtp.lines.map((line) => line.split(/[ :]/)[0]))
    expect([...verbs].toSorted()).toEqual(['EHLO', 'MAIL', 'RCPT', 'RSET'])
    expect(new Set(smtp.lines.filter((line) => line.startsWith('MAIL')))).toEqual(
      new Set(['MAIL FROM:<verify@sender.test>']),
    )
  })

  test('a malformed sender or proxy is refused at once', () => {
    const make = (smtp: object) => () =>
      testEngine(25, {}, { smtp: { port: 25, heloName: 'a.test', mailFrom: 'a@a.test', ...smtp } })
    expect(make({ mailFrom: 'nobody' })).toThrow('mail from')
    expect(make({ heloName: 'a b' })).toThrow('helo name')
    expect(make({ proxyUrl: 'http://192.0.2.1:1' })).toThrow('proxy')
  })
})

describe('guards', () => {
  test('three identical refusals without an accepted mailbox count as a refusal of this service', async () => {
    await using smtp = await startSmtp({
      recipient: (address) => `550 5.1.1 <${address}> User unknown`,
    })
    await using engine = testEngine(smtp.port, zone)
    const answers = await ask(engine, ['ok1@a.test', 'ok2@a.test', 'ok3@a.test'], { lane: 'bulk' })
    expect(answers.map(brief)).toEqual(Array.from({ length: 3 }, () => 'unknown blanket_reject'))
  })

  test('the refusals of a strict server count if it accepts postmaster', async () => {
    await using smtp = await startSmtp(ORDINARY)
    await using engine = testEngine(smtp.port, zone)
    const answers = await ask(engine, ['x1@a.test', 'x2@a.test', 'x3@a.test', 'x4@a.test'], {
      lane: 'bulk',
    })
    expect(new Set(answers.map(brief))).toEqual(new Set(['undeliverable mailbox_not_found']))
  })

  test('a group that refuses us three times is not probed for a while, and its batch waits', async () => {
    await using smtp = await startSmtp({
      recipient: () => '554 5.7.1 Client host blocked using zen.spamhaus.org',
    })
    await using engine = testEngine(smtp.port, zone, { limits: { recipientsPerTransaction: 1 } })
    for (let n = 0; n < 3; n++)
      expect(brief((await ask(engine, [`ok${n}@a.test`]))[0])).toBe('unknown blocked')
    const before = count(smtp.lines, 'RCPT')
    const waits = later((await ask(engine, ['ok9@a.test'], { lane: 'bulk' }))[0])
    expect([waits.group, waits.reason]).toEqual(['mx:a.test', 'blocked'])
    expect(waits.afterMs).toBeGreaterThan(800_000)
    expect(brief((await ask(engine, ['ok8@a.test']))[0])).toBe('unknown blocked')
    expect(count(smtp.lines, 'RCPT')).toBe(before)
    expect((await engine.health())[0]).toMatchObject({ status: 'degraded' })
  })

  test('an account that guesses names at a domain is stopped; another account is not', async () => {
    await using smtp = await startSmtp(ORDINARY)
    await using engine = testEngine(smtp.port, zone, {
      limits: { dictionaryAsked: 20, recipientsPerMinute: 1e6 },
    })
    await ask(
      engine,
      Array.from({ length: 30 }, (_, n) => `guess${n}@a.test`),
      { lane: 'bulk' },
    )
    expect(brief((await ask(engine, ['guess99@a.test'], { lane: 'bulk' }))[0])).toBe(
      'later probe_limit',
    )
    expect(brief((await ask(engine, ['guess98@a.test']))[0])).toBe('unknown probe_limit')
    expect(brief((await ask(engine, ['guess97@a.test'], { account: 'other' }))[0])).toBe(
      'undeliverable mailbox_not_found',
    )
  })

  test('an account that one worker stopped is stopped by another from the first subject on', async () => {
    await using smtp = await startSmtp(ORDINARY)
    const memory = processMemory()
    const distant: typeof memory = {
      ...memory,
      get: async (keys) => {
        await new Promise(setImmediate)
        return await memory.get(keys)
      },
    }
    const limits = { dictionaryAsked: 20, recipientsPerMinute: 1e6 }
    const guesses = Array.from({ length: 30 }, (_, n) => `guess${n}@a.test`)
    await using first = testEngine(smtp.port, zone, { memory: distant, limits })
    await ask(first, guesses, { lane: 'bulk' })
    const before = count(smtp.lines, 'RCPT')
    await using second = testEngine(smtp.port, zone, { memory: distant, limits })
    const others = guesses.map((guess) => `other-${guess}`)
    const answers = await ask(second, others, { lane: 'bulk' })
    expect(new Set(answers.map(brief))).toEqual(new Set(['later probe_limit']))
    expect(count(smtp.lines, 'RCPT')).toBe(before)
  })

  test('a subject delayed by a guard for too long ends as unknown', async () => {
    await using smtp = await startSmtp(ORDINARY)
    await using engine = testEngine(smtp.port, zone, {
      limits: { recipientsPerDomainPerHour: 4, recipientsPerMinute: 1e6 },
    })
    const subjects = ['ok1@a.test', 'ok2@a.test']
    const first = await ask(engine, subjects, { lane: 'bulk' })
    expect(first.map(brief)).toEqual(['later probe_limit', 'later probe_limit'])
    const states = subjects.map(() => ({ tries: 0, since_ms: Date.now() - 3 * 3_600_000 }))
    expect((await ask(engine, subjects, { lane: 'bulk', states })).map(brief)).toEqual([
      'unknown probe_limit',
      'unknown probe_limit',
    ])
  })
})

describe('what a server allows', () => {
  test('one recipient per transaction if the provider requires it', async () => {
    let most = 0
    let isOpen = false
    await using smtp = await startSmtp({
      recipient(_address, session) {
        most = Math.max(most, session.recipients)
        return session.recipients > 1
          ? '451 4.5.3 Recipients belong to multiple regions ATTR38'
          : '250 ok'
      },
      command(line) {
        if (line.startsWith('MAIL') && isOpen) return '503 5.5.1 nested MAIL'
        if (/^(?:MAIL|RSET|EHLO)/.test(line)) isOpen = line.startsWith('MAIL')
        return undefined
      },
    })
    const host = 'hotmail-com.olc.protection.outlook.com'
    await using engine = testEngine(smtp.port, {
      'hotmail.test MX': [{ preference: 1, exchange: host }],
      [`${host} A`]: ['127.0.0.1'],
    })
    const answers = await ask(
      engine,
      ['ok1@hotmail.test', 'ok2@hotmail.test', 'ok3@hotmail.test'],
      { lane: 'bulk', depth: 'extended' },
    )
    expect(new Set(answers.map(brief))).toEqual(new Set(['risky accept_all']))
    expect(most).toBe(1)
  })

  test('a basic check is one transaction, which ends once', async () => {
    for (const offers of [['PIPELINING'], ['SIZE']]) {
      await using smtp = await startSmtp({ ...ORDINARY, offers })
      await using engine = testEngine(smtp.port, zone)
      await ask(engine, ['ok@a.test'])
      await ask(engine, ['nobody@a.test'])
      const verbs = smtp.lines.map((line) => line.slice(0, 4))
      expect(verbs.join(' ')).toMatch(
        /^EHLO MAIL RCPT RSET (?:QUIT EHLO )?MAIL RCPT RSET(?: QUIT)?$/,
      )
    }
  })

  test('a session in which so many names in a row were refused is not used again', async () => {
    await using smtp = await startSmtp(ORDINARY)
    await using engine = testEngine(smtp.port, zone, {
      limits: { startConnections: 1, recipientsPerTransaction: 1, refusalsPerSession: 2 },
    })
    const subjects = ['no1', 'no2', 'no3', 'no4'].map((local) => `${local}@a.test`)
    const answers = await ask(engine, subjects, { lane: 'bulk' })
    expect(new Set(answers.map(brief))).toEqual(new Set(['undeliverable mailbox_not_found']))
    expect(count(smtp.lines, 'EHLO')).toBe(2)
  })

  test('fewer recipients per transaction if the server accepts no more', async () => {
    await using smtp = await startSmtp({
      recipient: (_address, session) =>
        session.recipients > 3 ? '452 4.5.3 Too many recipients' : '250 ok',
    })
    await using engine = testEngine(smtp.port, zone, { limits: { recipientsPerMinute: 1e6 } })
    const subjects = Array.from({ length: 12 }, (_, n) => `ok${n}@a.test`)
    const answers = await ask(engine, subjects, { lane: 'bulk' })
    expect(new Set(answers.map(brief))).toEqual(new Set(['deliverable accepted']))
  })

  test('HELO if EHLO is unknown, and no pipelining if it is not offered', async () => {
    await using smtp = await startSmtp({
      ...ORDINARY,
      command: (line) => (line.startsWith('EHLO') ? '502 5.5.1 unknown' : undefined),
    })
    await using engine = testEngine(smtp.port, zone)
    const answers = await ask(engine, ['ok@a.test', 'no@a.test'], { depth: 'extended' })
    expect(answers.map(brief)).toEqual(['deliverable accepted', 'undeliverable mailbox_not_found'])
    expect(smtp.lines).toContain('HELO verifier.sender.test')
  })

  test('SMTPUTF8 is used if it is offered', async () => {
    await using smtp = await startSmtp({ offers: ['PIPELINING', 'SMTPUTF8'] })
    await using engine = testEngine(smtp.port, zone)
    expect((await ask(engine, ['zoë@a.test', 'ok@a.test'])).map(brief)).toEqual([
      'deliverable accepted',
      'deliverable accepted',
    ])
    expect(smtp.lines.filter((line) => line.includes('SMTPUTF8'))).toHaveLength(1)
    expect(smtp.lines).toContain('RCPT TO:<zoë@a.test>')
  })

  test('a server that closes before any reply is tried twice for all names together', async () => {
    await using smtp = await startSmtp({
      command(line, session) {
        if (!line.startsWith('MAIL')) return undefined
        session.socket.destroy()
        return null
      },
    })
    await using engine = testEngine(smtp.port, zone, { limits: { startConnections: 1 } })
    const subjects = Array.from({ length: 6 }, (_, n) => `ok${n}@a.test`)
    const answers = await ask(engine, subjects, { lane: 'bulk' })
    expect(new Set(answers.map(brief))).toEqual(new Set(['unknown protocol_error']))
    expect(count(smtp.lines, 'EHLO')).toBe(2)
  })

  test('a broken session is reopened once', async () => {
    let sessions = 0
    await using smtp = await startSmtp({
      command(line, session) {
        if (line.startsWith('EHLO')) sessions++
        if (!line.startsWith('RCPT') || sessions > 1) return undefined
        session.socket.destroy()
        return null
      },
    })
    await using engine = testEngine(smtp.port, zone)
    expect(brief((await ask(engine, ['ok@a.test']))[0])).toBe('deliverable accepted')
  })

  test.each([[['PIPELINING']], [[]]])(
    'every name gets its answer from a server that closes after three unknown ones (offers %j)',
    async (offers) => {
      const unknownNames = new WeakMap<object, number>()
      await using smtp = await startSmtp({
        offers,
        command(line, session) {
          const count = unknownNames.get(session) ?? 0
          if (count === 3) return null
          if (!line.startsWith('RCPT TO:<x')) return undefined
          unknownNames.set(session, count + 1)
          if (count === 2) queueMicrotask(() => session.socket.end())
          return '550 5.1.1 User unknown'
        },
      })
      await using engine = testEngine(smtp.port, zone, { limits: { recipientsPerMinute: 6_000 } })
      await ask(engine, ['ok@a.test'])
      const subjects = Array.from({ length: 20 }, (_, n) => `x${n}@a.test`)
      const answers = await ask(engine, subjects, { lane: 'bulk' })
      expect(answers.map(brief)).toEqual(subjects.map(() => 'undeliverable mailbox_not_found'))
    },
  )

  test('a name at which a server breaks off does not keep others from their answers', async () => {
    await using smtp = await startSmtp({
      command(line, session) {
        if (!line.startsWith('RCPT TO:<bad')) return undefined
        session.socket.destroy()
        return null
      },
      offers: [],
    })
    await using engine = testEngine(smtp.port, zone)
    const names = ['ok1', 'ok2', 'bad', 'ok3']
    const subjects = names.map((local) => `${local}@a.test`)
    const answers = await ask(engine, subjects, { lane: 'bulk' })
    const expected = names.map((name) =>
      name === 'bad' ? 'unknown protocol_error' : 'deliverable accepted',
    )
    expect(answers.map(brief)).toEqual(expected)
  })

  test('a session serves many transactions', async () => {
    await using smtp = await startSmtp(ORDINARY)
    await using engine = testEngine(smtp.port, zone)
    for (let n = 0; n < 5; n++) await ask(engine, [`ok${n}@a.test`])
    expect(smtp.sessions.all).toBe(1)
  })
})

describe('shares', () => {
  test('a group with a low limit delays no other group and stays within its limits', async () => {
    await using smtp = await startSmtp(ORDINARY)
    const google = 'aspmx.l.google.com'
    const all = {
      ...zone,
      'big.test MX': [{ preference: 1, exchange: google }],
      [`${google} A`]: ['127.0.0.1'],
    }
    const limits = {
      groups: { google: { connections: 1, recipientsPerMinute: 60 } },
      recipientsPerMinute: 1e6,
    }
    await using engine = testEngine(smtp.port, all, { limits })
    const subjects = Array.from(
      { length: 500 },
      (_, n) => `ok${n}@${n % 5 < 3 ? 'big.test' : 'a.test'}`,
    )
    const beganMs = performance.now()
    const answers = await ask(engine, subjects, { lane: 'bulk' })
    // At one recipient a second, those of the large domain alone would take 5 minutes.
    expect(performance.now() - beganMs).toBeLessThan(20_000)
    const others = answers.filter((_answer, at) => at % 5 >= 3)
    expect(new Set(others.map(brief))).toEqual(new Set(['deliverable accepted']))
    const waits = answers.filter((answer) => answer.kind === 'later')
    expect(waits.length).toBeGreaterThanOrEqual(300 - 15)
    expect(new Set(waits.map((answer) => later(answer).group))).toEqual(new Set(['mx:google']))
    expect(
      smtp.lines.filter((line) => line.startsWith('RCPT') && line.includes('@big.test')).length,
    ).toBeLessThanOrEqual(15)
  })

  test('three workers together stay within the connections and recipients of a group', async () => {
    let open = 0
    let most = 0
    await using smtp = await startSmtp({
      recipient: () => '250 ok',
      command(line, session) {
        if (!line.startsWith('EHLO')) return undefined
        most = Math.max(most, ++open)
        session.socket.on('close', () => open--)
        return undefined
      },
    })
    const shared = { memory: processMemory(), limiter: processLimiter() }
    const limits = { groups: { 'a.test': { connections: 2, recipientsPerMinute: 120 } } }
    await using one = testEngine(smtp.port, zone, { ...shared, limits })
    await using two = testEngine(smtp.port, zone, { ...shared, limits })
    await using three = testEngine(smtp.port, zone, { ...shared, limits })
    await Promise.all(
      [one, two, three].map((engine, worker) =>
        ask(
          engine,
          Array.from({ length: 100 }, (_, n) => `ok${worker}x${n}@a.test`),
          { lane: 'bulk' },
        ),
      ),
    )
    expect(most).toBeLessThanOrEqual(2)
    expect(count(smtp.lines, 'RCPT')).toBeLessThanOrEqual(120)
    expect(count(smtp.lines, 'RCPT')).toBeGreaterThan(0)
  })

  test('no more recipients are sent than were granted, even to a host that refuses all alike', async () => {
    await using smtp = await startSmtp({ recipient: () => '550 5.1.1 User unknown' })
    const grants = recordGrants(processLimiter())
    await using engine = testEngine(smtp.port, zone, { limiter: grants.limiter })
    const subjects = Array.from({ length: 40 }, (_, n) => `ok${n}@a.test`)
    await ask(engine, subjects, { lane: 'bulk' })
    expect(count(smtp.lines, 'RCPT')).toBeGreaterThan(3)
    expect(count(smtp.lines, 'RCPT')).toBeLessThanOrEqual(grants.sum())
  })

  const slowly = {
    limits: { sendWithinMs: 100, recipientsPerMinute: 1e6, queueMs: 3_600_000 },
    times: { connectMs: 20_000, greetingMs: 20_000, commandMs: 20_000, recipientMs: 20_000 },
  }
  const slowHost: SmtpScript = {
    offers: [],
    recipient(_address, { socket }) {
      setTimeout(() => socket.write('250 2.1.5 ok\r\n'), 150)
      return null
    },
  }

  test('recipients whose tokens expire while a slow host delays the session take new tokens', async () => {
    await using smtp = await startSmtp(slowHost)
    const grants = recordGrants(processLimiter())
    await using engine = testEngine(smtp.port, zone, { ...slowly, limiter: grants.limiter })
    const subjects = Array.from({ length: 5 }, (_, n) => `ok${n}@a.test`)
    const answers = await ask(engine, subjects, { lane: 'bulk' })
    expect(new Set(answers.map(brief))).toEqual(new Set(['deliverable accepted']))
    // Each reply takes longer than a grant lasts.
    expect(grants.sum()).toBeGreaterThanOrEqual(5 + 4)
  })

  test('recipients that get no new tokens are not sent, and wait', async () => {
    await using smtp = await startSmtp(slowHost)
    const grants = recordGrants(processLimiter(), 1)
    await using engine = testEngine(smtp.port, zone, { ...slowly, limiter: grants.limiter })
    const subjects = Array.from({ length: 5 }, (_, n) => `ok${n}@a.test`)
    const answers = await ask(engine, subjects, { lane: 'bulk' })
    const accepted = answers.filter((answer) => answer.kind === 'outcome')
    expect(accepted.length).toBeLessThan(5)
    expect(accepted.length).toBe(count(smtp.lines, 'RCPT'))
    expect(new Set(answers.filter(({ kind }) => kind === 'later').map(brief))).toEqual(
      new Set(['later rate_limited']),
    )
  })

  test('the replies of a session stay valid if the shared limiter fails during it', async () => {
    await using smtp = await startSmtp(slowHost)
    const limiter = processLimiter()
    let takes = 0
    await using engine = testEngine(smtp.port, zone, {
      ...slowly,
      limits: { ...slowly.limits, queueMs: 300, soonMs: 20 },
      limiter: {
        ...limiter,
        // One for the group, one for the domain, one after the first tokens have expired.
        take: (...args) =>
          ++takes > 3 ? Promise.reject(new Error('store is away')) : limiter.take(...args),
      },
    })
    const subjects = Array.from({ length: 3 }, (_, n) => `ok${n}@a.test`)
    const answers = (await ask(engine, subjects, { lane: 'bulk' })).map(brief)
    expect(new Set(answers)).toEqual(new Set(['deliverable accepted', 'later rate_limited']))
    const accepted = answers.filter((answer) => answer === 'deliverable accepted')
    expect(accepted).toHaveLength(count(smtp.lines, 'RCPT'))
  })

  test('a live call precedes the batches of its group', async () => {
    const order: string[] = []
    await using smtp = await startSmtp({
      recipient(address) {
        order.push(address)
        return '250 ok'
      },
    })
    const limits = { connectionsPerGroup: 1, recipientsPerTransaction: 1, recipientsPerMinute: 1e6 }
    await using engine = testEngine(smtp.port, zone, { limits })
    const list = ask(
      engine,
      Array.from({ length: 200 }, (_, n) => `ok${n}@a.test`),
      { lane: 'bulk' },
    )
    await expect.poll(() => order.length, { interval: 1 }).toBeGreaterThan(3)
    await ask(engine, ['oklive@a.test'])
    expect(order.indexOf('oklive@a.test')).toBeLessThan(150)
    expect(order.length).toBeLessThan(200)
    await list
  })
})
