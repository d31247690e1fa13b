import { describe, expect, test } from 'vitest'
import { askOne, ask, startFixtureServers } from './engine-fixture.ts'
import { parseWhois } from './whois-parse.ts'
import type { WhoisRecord } from './whois-parse.ts'

function parsed(text: string, domain: string): WhoisRecord {
  return parseWhois(text, { domain, tld: domain.split('.').at(-1) ?? null })
}

describe('the words of a name are no refusal', () => {
  test.each([
    ['limit-reached.xx', 'No match for "LIMIT-REACHED.XX".'],
    ['rate-hit.xx', 'The queried object does not exist: rate-hit.xx'],
    ['over-limit.xx', 'Domain over-limit.xx not found'],
    ['over-limit.xx', 'over-limit.xx is free'],
    ['over-limit.at', '%% NOT FOUND over-limit.at'],
    ['rate-hit.at', '% nothing found\n% query: rate-hit.at'],
    ['rate-hit.im', 'The domain rate-hit.im was not found.'],
    ['access-denied.xx', 'access-denied: not found'],
    ['please-retry.co.xx', 'No match for "Please-Retry.co.xx"'],
    ['too-many-requests.xx', 'Domain too-many-requests.xx is not registered'],
    ['xn---limit-reached-fsb.xx', 'No match for "XN---LIMIT-REACHED-FSB.XX".'],
    ['xn---limit-reached-fsb.xx', 'No match for "Ü-Limit-Reached.xx".'],
  ])('%s is free: %j', (domain, text) => {
    expect(parsed(text, domain)).toMatchObject({ registered: false, throttled: false })
  })

  test.each([
    ['limit-reached.de', 'Domain: limit-reached.de\nNserver: ns1.x.de\nStatus: connect'],
    // Whoever registers a name chooses its servers.
    ['x.de', 'Domain: x.de\nNserver: ns1.limit-reached.com\nStatus: connect'],
    ['x.de', 'Domain: x.de\nNserver:\n  ns1.limit-reached.com\nStatus: connect'],
  ])('%s is registered: %j', (domain, text) => {
    expect(parsed(text, domain)).toMatchObject({ registered: true, throttled: false })
  })
})

describe('a refusal remains one, whatever the name', () => {
  test.each(['x.xx', 'limit-reached.xx', 'your.xx', 'co.xx'])('of all names: %s', (domain) => {
    for (const text of [
      'Too many requests\n% No entries found',
      'Query limit exceeded',
      'Please try again later.',
    ]) {
      expect(parsed(text, domain)).toMatchObject({
        registered: null,
        throttled: true,
        isSure: true,
      })
    }
  })

  test.each([
    ['x.xx', 'x.xx: access denied'],
    ['x.xx', '% Query rate limit exceeded. Reduced information.\ndomain: x.xx\nowner: Someone'],
    ['x.xx', 'Domain: x.xx\nStatus: query limit exceeded'],
    ['quota.xx', 'Quota exceeded'],
    ['limit-reached.xx', 'limit-reached.xx'],
  ])('that may concern %s alone: %j', (domain, text) => {
    expect(parsed(text, domain)).toMatchObject({
      registered: null,
      throttled: true,
      isSure: false,
    })
  })
})

test('a name in the words of a refusal leaves the registry to other names', async () => {
  await using fixture = await startFixtureServers({
    whois: (line, socket) =>
      socket.end(
        line === 'zz'
          ? 'refer: registry.test\n'
          : line.startsWith('odd')
            ? `${line}: query refused\n`
            : `No match for "${line.toUpperCase()}".\n`,
      ),
  })
  const reasons: string[] = []
  for (const name of ['limit-reached.zz', 'a.zz', 'odd.zz', 'odd.zz', 'odd.zz', 'b.zz']) {
    reasons.push((await askOne(fixture, name)).reason)
  }
  const throttled = 'registry_throttled'
  expect(reasons).toEqual([
    'unregistered',
    'unregistered',
    throttled,
    throttled,
    throttled,
    'unregistered',
  ])
  const [later] = await ask(fixture, ['odd.zz'], { lane: 'bulk' })
  expect(later).toMatchObject({ kind: 'later', reason: throttled, isOwnWait: true })
})
