import { describe, expect, test } from 'vitest'
import type { Json } from '@plumbline/contract/outcome'
import type { Answer } from '@plumbline/ports/engine'
import { ask, brief, outcomeOf, testEngine } from './engine-fixture.ts'
import { processMemory, startSmtp } from './smtp-fixture.ts'
import type { SmtpFixture } from './smtp-fixture.ts'

const HOST = 'contoso-test.mail.protection.outlook.com'
const EDGE_BLOCK = '550 5.4.1 Recipient address rejected: Access denied. AS(201806281)'
const SUBJECT = 'ada@contoso.test'
const BULK = { lane: 'bulk' } as const

const zone = {
  'contoso.test MX': [{ preference: 0, exchange: HOST }],
  [`${HOST} A`]: ['127.0.0.1', '127.0.0.2'],
}

/** A host with two addresses; the second replies `then` to RCPT of the mailbox. */
async function startPair(then: string): Promise<{
  readonly one: SmtpFixture
  readonly two: SmtpFixture
  readonly [Symbol.asyncDispose]: () => Promise<void>
}> {
  await using stack = new AsyncDisposableStack()
  const one = stack.use(await startSmtp({ recipient: () => EDGE_BLOCK }))
  const two = stack.use(await startSmtp({ recipient: () => then }, '127.0.0.2', one.port))
  const owned = stack.move()
  return { one, two, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

function stateOf(answer: Answer<'email'> | undefined): readonly (Json | undefined)[] {
  if (answer?.kind !== 'later') throw new Error(`expected later, got ${JSON.stringify(answer)}`)
  return [answer.state]
}

const asked = ({ lines }: SmtpFixture): number =>
  lines.filter((line) => line === `RCPT TO:<${SUBJECT}>`).length

describe('a refusal that one reply does not prove', () => {
  test('is postponed in a batch until its recheck', async () => {
    await using pair = await startPair(EDGE_BLOCK)
    await using engine = testEngine(pair.one.port, zone)
    const [answer] = await ask(engine, [SUBJECT], BULK)
    expect(answer).toMatchObject({
      kind: 'later',
      afterMs: 600_000,
      group: 'recheck:microsoft365',
      isOwnWait: true,
      reason: 'mailbox_not_found',
    })
  })

  test.each([
    [EDGE_BLOCK, 'undeliverable mailbox_not_found', 'high', 'confirmed'],
    ['550 5.1.1 User unknown', 'undeliverable mailbox_not_found', 'high', 'confirmed'],
    [
      '550 5.2.1 this account has been disabled',
      'undeliverable mailbox_disabled',
      'high',
      'confirmed',
    ],
    ['250 2.1.5 Recipient OK', 'deliverable accepted', 'medium', 'contradicted'],
    ['552 5.2.2 mailbox is full', 'risky mailbox_full', 'medium', 'contradicted'],
    ['550 5.7.129 only authenticated senders', 'unknown accepted_exists', 'low', 'contradicted'],
    [
      '550 5.7.606 Access denied, banned sending IP [192.0.2.1]',
      'unknown blocked',
      'low',
      'contradicted',
    ],
    ['550 Requested action not taken', 'undeliverable mailbox_not_found', 'medium', 'no_answer'],
  ])(
    'and where another address says "%s" it is %s, %s: %s',
    async (then, verdict, confidence, look) => {
      await using pair = await startPair(then)
      await using engine = testEngine(pair.one.port, zone)
      const states = stateOf((await ask(engine, [SUBJECT], BULK))[0])
      const outcome = outcomeOf((await ask(engine, [SUBJECT], { ...BULK, states }))[0])
      expect(`${outcome.status} ${outcome.reason}`).toBe(verdict)
      expect([outcome.facts.confidence, outcome.evidence['second_look']]).toEqual([
        confidence,
        look,
      ])
      expect([asked(pair.one), asked(pair.two)]).toEqual([1, 1])
    },
  )

  test('if the recheck proves nothing, the time is that of the first probe', async () => {
    await using pair = await startPair('550 Requested action not taken')
    let nowMs = Date.parse('2026-11-01T12:00:00Z')
    await using engine = testEngine(pair.one.port, zone, { clock: () => nowMs })
    const states = stateOf((await ask(engine, [SUBJECT], BULK))[0])
    nowMs += 600_000
    const outcome = outcomeOf((await ask(engine, [SUBJECT], { ...BULK, states }))[0])
    expect(outcome).toMatchObject({ cached: false, checkedAt: '2026-11-01T12:00:00.000Z' })
  })

  test('is rechecked at the same address if there is no other', async () => {
    await using smtp = await startSmtp({ recipient: () => EDGE_BLOCK })
    await using engine = testEngine(smtp.port, { ...zone, [`${HOST} A`]: ['127.0.0.1'] })
    const states = stateOf((await ask(engine, [SUBJECT], BULK))[0])
    const outcome = outcomeOf((await ask(engine, [SUBJECT], { ...BULK, states }))[0])
    expect([outcome.status, outcome.evidence['second_look']]).toEqual([
      'undeliverable',
      'confirmed',
    ])
    expect(asked(smtp)).toBe(2)
  })

  test('waits for a greylisted recheck, and keeps the first reply', async () => {
    let reply = '451 4.2.0 Greylisted, try again in 60 seconds'
    await using smtp = await startSmtp({ recipient: () => reply }, '127.0.0.2')
    await using other = await startSmtp({ recipient: () => EDGE_BLOCK }, '127.0.0.1', smtp.port)
    await using engine = testEngine(other.port, zone)
    const first = stateOf((await ask(engine, [SUBJECT], BULK))[0])
    const [waiting] = await ask(engine, [SUBJECT], { ...BULK, states: first })
    expect(brief(waiting)).toBe('later greylisted')
    reply = EDGE_BLOCK
    const outcome = outcomeOf(
      (await ask(engine, [SUBJECT], { ...BULK, states: stateOf(waiting) }))[0],
    )
    expect([outcome.status, outcome.evidence['second_look']]).toEqual([
      'undeliverable',
      'confirmed',
    ])
  })

  test('is reported to a live call at once, with low confidence and a time to retry', async () => {
    await using pair = await startPair(EDGE_BLOCK)
    await using engine = testEngine(pair.one.port, zone)
    for (const cached of [false, true]) {
      const outcome = outcomeOf((await ask(engine, [SUBJECT]))[0])
      expect([outcome.status, outcome.facts.confidence, outcome.cached]).toEqual([
        'undeliverable',
        'medium',
        cached,
      ])
      expect(outcome.evidence['retry_after']).toBe(600)
    }
  })

  test('that another worker has just received counts as the first try of a batch', async () => {
    await using pair = await startPair(EDGE_BLOCK)
    const memory = processMemory()
    await using live = testEngine(pair.one.port, zone, { memory })
    await using list = testEngine(pair.one.port, zone, { memory })
    await ask(live, [SUBJECT])
    const states = stateOf((await ask(list, [SUBJECT], BULK))[0])
    expect([asked(pair.one), asked(pair.two)]).toEqual([1, 0])
    await ask(list, [SUBJECT], { ...BULK, states })
    expect([asked(pair.one), asked(pair.two)]).toEqual([1, 1])
    const outcome = outcomeOf((await ask(live, [SUBJECT]))[0])
    expect([outcome.cached, outcome.facts.confidence]).toEqual([true, 'high'])
  })

  test('is final if rechecks are disabled', async () => {
    await using pair = await startPair(EDGE_BLOCK)
    await using engine = testEngine(pair.one.port, zone, { limits: { recheckMs: 0 } })
    const outcome = outcomeOf((await ask(engine, [SUBJECT], BULK))[0])
    expect([outcome.status, outcome.facts.confidence]).toEqual(['undeliverable', 'medium'])
    expect(outcome.evidence['retry_after']).toBeUndefined()
  })

  test('an explicit statement that the mailbox does not exist needs no recheck', async () => {
    await using smtp = await startSmtp({ recipient: () => '550 5.1.1 User unknown' })
    await using engine = testEngine(smtp.port, zone)
    expect(brief((await ask(engine, [SUBJECT], BULK))[0])).toBe('undeliverable mailbox_not_found')
  })
})
