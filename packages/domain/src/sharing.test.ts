import { expect, test } from 'vitest'
import type { Outcome } from '@plumbline/contract/outcome'
import {
  ask,
  healthyZone,
  rdapBody,
  sendJson,
  startFixtureServers,
  type Fixture,
} from './engine-fixture.ts'

async function outcomeFor(
  fixture: Fixture,
  account: string,
  lane: 'live' | 'bulk' = 'live',
): Promise<Outcome<'domain'>> {
  const [answer] = await ask(fixture, ['good.com'], { account, lane })
  if (answer?.kind !== 'outcome') throw new Error('no outcome')
  return answer
}

function open(options: { clock?: () => Date; shareFindings?: boolean }): Promise<Fixture> {
  return startFixtureServers({
    zone: healthyZone('good.com'),
    rdap: (_req, res) => sendJson(res, 200, rdapBody('good.com')),
    options,
  })
}

test('a registration shows its exact time to the account that found it out, and only the day to others', async () => {
  let now = new Date('2026-11-21T12:34:56.789Z')
  await using fixture = await open({ clock: () => now })
  await outcomeFor(fixture, 'first')
  now = new Date('2026-11-22T09:00:00Z')
  const own = await outcomeFor(fixture, 'first')
  expect(own).toMatchObject({ cached: true, checkedAt: '2026-11-21T12:34:56.789Z' })
  const anothers = await outcomeFor(fixture, 'second')
  expect(anothers).toMatchObject({
    cached: true,
    checkedAt: '2026-11-21T00:00:00.000Z',
    facts: own.facts,
    evidence: own.evidence,
  })
  expect(fixture.rdapPaths).toEqual(['/domain/good.com'])
})

test.each(['live', 'bulk'] as const)(
  'if accounts share nothing, each queries the registry separately, even concurrently (%s)',
  async (lane) => {
    await using fixture = await open({ shareFindings: false })
    const both = ['first', 'second'].map((account) => outcomeFor(fixture, account, lane))
    for (const outcome of await Promise.all(both)) expect(outcome.cached).toBe(false)
    expect(fixture.rdapPaths).toEqual(['/domain/good.com', '/domain/good.com'])
    expect((await outcomeFor(fixture, 'first', lane)).cached).toBe(true)
    expect((await outcomeFor(fixture, 'third', lane)).cached).toBe(false)
  },
)
