import { expect, test } from 'vitest'
import type { Outcome } from '@plumbline/contract/outcome'
import type { Engine } from '@plumbline/ports/engine'
import { ask, connected, createHlrFixture, json, MOBILE, type HlrFixture } from './hlr-fixture.ts'
import { FIRST, SECOND } from './hlr-fixture.ts'
import { createPhoneEngine } from './engine.ts'

async function outcomeFor(engine: Engine<'phone'>, account: string): Promise<Outcome<'phone'>> {
  const [answer] = await ask(engine, [MOBILE], { account })
  if (answer?.kind !== 'outcome') throw new Error('no outcome')
  return answer
}

function open(fixture: HlrFixture, shareFindings?: boolean): Promise<Engine<'phone'>> {
  const log = { warn: () => undefined }
  const more = shareFindings === undefined ? {} : { shareFindings }
  return createPhoneEngine({ ...fixture, providers: [FIRST], log, ...more })
}

function dayOf(moment: string): string {
  return `${moment.slice(0, 10)}T00:00:00.000Z`
}

test('an account that did not buy a result sees only its day, and not the id of the purchase', async () => {
  const fixture = createHlrFixture(() => json({ ...connected(), id: 'purchase-4711' }))
  await using engine = await open(fixture)
  const first = await outcomeFor(engine, 'buyer')
  expect(first.evidence['hlr']).toMatchObject({ id: 'purchase-4711' })
  fixture.clock.advance(1_234)
  const own = await outcomeFor(engine, 'buyer')
  expect(own).toMatchObject({ cached: true, checkedAt: first.checkedAt })
  expect(own.evidence['hlr']).toEqual(first.evidence['hlr'])
  const anothers = await outcomeFor(engine, 'neighbour')
  expect(anothers).toMatchObject({ cached: true, checkedAt: dayOf(first.checkedAt) })
  expect(anothers.facts).toEqual(own.facts)
  expect(anothers.evidence['hlr']).toEqual({
    provider: 'hlr-lookups',
    status: 'CONNECTED',
    id: null,
    at: dayOf(first.checkedAt),
  })
  expect(JSON.stringify(anothers)).not.toMatch(/purchase-4711|buyer/)
  expect(fixture.bought).toEqual([MOBILE])
})

test('an account that asks while another buys gets the result without the id of the purchase', async () => {
  const fixture = createHlrFixture(() => json({ ...connected(), id: 'purchase-4711' }))
  await using engine = await open(fixture)
  const [buyer, neighbour] = await Promise.all([
    outcomeFor(engine, 'buyer'),
    outcomeFor(engine, 'neighbour'),
  ])
  expect(fixture.bought).toEqual([MOBILE])
  expect(buyer.evidence['hlr']).toMatchObject({ id: 'purchase-4711' })
  expect(neighbour.evidence['hlr']).toMatchObject({ id: null, at: dayOf(buyer.checkedAt) })
  expect(neighbour.facts).toEqual(buyer.facts)
})

test.each(['live', 'bulk'] as const)(
  'an account whose cap is reached keeps its number (%s) from nobody who asks at the same time',
  async (lane) => {
    const fixture = createHlrFixture()
    const log = { warn: () => undefined }
    const accountCapOf = async (account: string): Promise<number | null> =>
      account === 'spent' ? 0 : null
    await using engine = await createPhoneEngine({
      ...fixture,
      providers: [FIRST, SECOND],
      log,
      accountCapOf,
    })
    const accounts = ['spent', 'neighbour', 'spent', 'neighbour']
    const answers = await Promise.all(
      accounts.map((account) => ask(engine, [MOBILE], { account, lane })),
    )
    expect(answers.flat().map(({ reason }) => reason)).toEqual([
      'hlr_paused',
      'hlr_connected',
      'hlr_paused',
      'hlr_connected',
    ])
    expect(fixture.bought).toEqual([MOBILE])
  },
)

test('if accounts share nothing, each buys for itself, even concurrently', async () => {
  const fixture = createHlrFixture()
  await using engine = await open(fixture, false)
  const asked = ['buyer', 'neighbour'].map((account) => outcomeFor(engine, account))
  for (const outcome of await Promise.all(asked)) {
    expect(outcome).toMatchObject({ cached: false, evidence: { hlr: { id: 'a1' } } })
  }
  expect(fixture.bought).toEqual([MOBILE, MOBILE])
  expect((await outcomeFor(engine, 'buyer')).cached).toBe(true)
  expect(fixture.bought).toHaveLength(2)
})
