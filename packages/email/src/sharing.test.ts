import { expect, test } from 'vitest'
import type { Outcome } from '@plumbline/contract/outcome'
import type { Engine } from '@plumbline/ports/engine'
import { ask, outcomeOf, testEngine, zoneOf } from './engine-fixture.ts'
import { processMemory, startSmtp } from './smtp-fixture.ts'

const NOON = Date.parse('2026-11-01T12:34:56.789Z')
const NEXT_DAY = NOON + 86_400_000
const EXTENDED = { depth: 'extended' } as const
const zone = zoneOf({ 'a.test': '127.0.0.1' })

// As some servers do: with the time and a transaction id.
const script = {
  recipient: (address: string) =>
    address === 'ok@a.test'
      ? '250 2.1.5 OK'
      : '550 5.1.1 User unknown [mx1.a.test 2026-11-01T12:34:56.789Z 08DE28F5F7]',
}

async function outcomeFor(
  engine: Engine<'email'>,
  subject: string,
  account: string,
  more: { depth?: 'extended'; lane?: 'bulk' } = {},
): Promise<Outcome<'email'>> {
  const [answer] = await ask(engine, [subject], { account, ...more })
  return outcomeOf(answer)
}

test('a cached outcome shows its exact time to the account that found it out, and only the day to others', async () => {
  await using smtp = await startSmtp(script)
  let nowMs = NOON
  const memory = processMemory(() => nowMs)
  await using one = testEngine(smtp.port, zone, { memory, clock: () => nowMs })
  await outcomeFor(one, 'gone@a.test', 'first')
  nowMs = NEXT_DAY
  await using two = testEngine(smtp.port, zone, { memory, clock: () => nowMs })
  const own = await outcomeFor(two, 'gone@a.test', 'first')
  expect(own).toMatchObject({ cached: true, checkedAt: '2026-11-01T12:34:56.789Z' })
  expect(own.evidence).toHaveProperty('reply_text')
  const anothers = await outcomeFor(two, 'gone@a.test', 'second')
  expect(anothers).toMatchObject({
    cached: true,
    checkedAt: '2026-11-01T00:00:00.000Z',
    status: own.status,
    reason: own.reason,
    facts: own.facts,
    evidence: { reply_code: 550, enhanced_code: '5.1.1' },
  })
  expect(JSON.stringify(anothers)).not.toMatch(/12:34|08DE28F5F7|first/)
})

test('a domain fact that two accounts found out together shows the day only to both', async () => {
  await using smtp = await startSmtp({})
  let nowMs = NOON
  const memory = processMemory(() => nowMs)
  await using engine = testEngine(smtp.port, zone, { memory, clock: () => nowMs })
  const more = { ...EXTENDED, lane: 'bulk' } as const
  await Promise.all([
    outcomeFor(engine, 'one@a.test', 'first', more),
    outcomeFor(engine, 'two@a.test', 'second', more),
  ])
  expect(smtp.lines.filter((line) => line.startsWith('MAIL'))).toHaveLength(1)
  nowMs += 60_000
  for (const account of ['first', 'second']) {
    await outcomeFor(engine, `of-${account}@a.test`, account)
    const again = await outcomeFor(engine, `of-${account}@a.test`, account)
    expect(again).toMatchObject({ cached: true, checkedAt: '2026-11-01T00:00:00.000Z' })
  }
})

test("a result based on another account's domain fact shows the day only, cached or fresh", async () => {
  await using smtp = await startSmtp({})
  let nowMs = NOON
  const memory = processMemory(() => nowMs)
  await using engine = testEngine(smtp.port, zone, { memory, clock: () => nowMs })
  await outcomeFor(engine, 'one@a.test', 'first', EXTENDED)
  nowMs += 60_000
  await outcomeFor(engine, 'two@a.test', 'second', EXTENDED)
  const again = await outcomeFor(engine, 'two@a.test', 'second', EXTENDED)
  expect(again).toMatchObject({ cached: true, checkedAt: '2026-11-01T00:00:00.000Z' })
  const own = await outcomeFor(engine, 'one@a.test', 'first', EXTENDED)
  expect(own).toMatchObject({ cached: true, checkedAt: '2026-11-01T12:34:56.789Z' })
})

test('a doubtful refusal that another account got counts as the first probe, and shows its day only', async () => {
  await using smtp = await startSmtp({ recipient: () => '550 5.4.1 Recipient address rejected' })
  let nowMs = NOON
  const memory = processMemory(() => nowMs)
  await using engine = testEngine(smtp.port, zone, { memory, clock: () => nowMs })
  await outcomeFor(engine, 'ada@a.test', 'first')
  nowMs += 60_000
  const anothers = await outcomeFor(engine, 'ada@a.test', 'second')
  const [waits] = await ask(engine, ['ada@a.test'], { account: 'second', lane: 'bulk' })
  expect(JSON.stringify([anothers, waits])).not.toContain(String(NOON))
  expect(JSON.stringify(anothers)).not.toContain('12:34:56')
})

test('if accounts share nothing, each probes separately, even concurrently, and has a cache of its own', async () => {
  await using smtp = await startSmtp(script)
  const memory = processMemory()
  await using engine = testEngine(smtp.port, zone, { memory, shareFindings: false })
  const both = ['first', 'second'].map((account) => outcomeFor(engine, 'ok@a.test', account))
  for (const outcome of await Promise.all(both)) {
    expect(outcome).toMatchObject({ cached: false, reason: 'accepted' })
  }
  expect(smtp.lines.filter((line) => line.startsWith('RCPT'))).toHaveLength(2)
  expect((await outcomeFor(engine, 'ok@a.test', 'first')).cached).toBe(true)
  expect((await outcomeFor(engine, 'ok@a.test', 'third')).cached).toBe(false)
})

test('if accounts share nothing, accept-all facts of domains are still shared', async () => {
  await using smtp = await startSmtp({})
  const memory = processMemory()
  await using engine = testEngine(smtp.port, zone, { memory, shareFindings: false })
  await outcomeFor(engine, 'one@a.test', 'first', EXTENDED)
  await outcomeFor(engine, 'two@a.test', 'second', EXTENDED)
  expect(smtp.lines.filter((line) => line.startsWith('RCPT'))).toHaveLength(3)
})
