import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Json } from '@plumbline/contract/outcome'
import type { Memory } from '@plumbline/ports/memory'
import { expect, test, vi } from 'vitest'
import { RA } from '@plumbline/net/dns-fixture'
import { createEgress, DialError } from '@plumbline/net/egress'
import type { Egress } from '@plumbline/net/egress'
import {
  ask,
  askOne,
  healthyZone,
  rdapBody,
  sendJson,
  startFixtureServers,
} from './engine-fixture.ts'

test('a registered, healthy name is answered with every fact', async () => {
  await using fixture = await startFixtureServers({
    zone: healthyZone('good.com'),
    rdap: (_req, res) => sendJson(res, 200, rdapBody('good.com')),
  })
  const { facts, status, reason, evidence, cached } = await askOne(fixture, 'good.com')
  expect({ status, reason, cached }).toEqual({
    status: 'answered',
    reason: 'registered',
    cached: false,
  })
  expect(facts).toEqual({
    domain: 'good.com',
    valid: true,
    registered: true,
    registrar: 'Acme Registrar',
    createdDate: '2020-11-21T23:00:00Z',
    expiryDate: '2030-01-01T00:00:00Z',
    ageDays: 2191,
    dnsHealthy: true,
    mxFound: true,
    spfFound: true,
    dmarcFound: true,
    disposable: false,
    parked: false,
    signals: [],
  })
  expect(evidence).toMatchObject({
    registrable: 'good.com',
    registration: { source: 'rdap', server: 'rdap.test' },
    dns: {
      delegation: 'ok',
      name_server_checks: ['ns.good.com authoritative'],
      mx: ['10 mx.good.com'],
      null_mx: false,
    },
    mail: { spf_valid: true, dmarc_policy: 'reject', dmarc_domain: 'good.com' },
  })
  expect(fixture.whoisLines).toEqual([])
})

test('an authoritative denial means unregistered; it is cached and not queried again', async () => {
  await using fixture = await startFixtureServers({
    rdap: (_req, res) => sendJson(res, 404, { errorCode: 404 }),
  })
  const first = await askOne(fixture, 'free.com')
  expect(first).toMatchObject({
    status: 'answered',
    reason: 'unregistered',
    facts: { valid: false, registered: false, dnsHealthy: false, mxFound: false, ageDays: null },
  })
  expect(first.facts.signals.map(({ group, code }) => `${group}/${code}`)).toEqual([
    'domain.registration/unregistered',
  ])
  const second = await askOne(fixture, 'www.free.com')
  expect(second).toMatchObject({ cached: true, facts: { registered: false } })
  expect(fixture.rdapPaths).toEqual(['/domain/free.com'])
})

test('a cached registration shows when the registry was queried, not when it is returned', async () => {
  let now = new Date('2026-11-21T12:00:00Z')
  await using fixture = await startFixtureServers({
    zone: healthyZone('good.com'),
    rdap: (_req, res) => sendJson(res, 200, rdapBody('good.com')),
    options: { clock: () => now },
  })
  const asked = { cached: false, checkedAt: '2026-11-21T12:00:00.000Z' }
  expect(await askOne(fixture, 'good.com')).toMatchObject(asked)
  now = new Date('2026-11-22T09:00:00Z')
  const told = await askOne(fixture, 'www.good.com')
  expect(told).toMatchObject({ ...asked, cached: true })
  // The age is that of today.
  expect(told.facts.ageDays).toBe(2_192)
})

test('a registration is stored as cached, so that a full memory need not add it', async () => {
  const stored: unknown[] = []
  const memory: Memory = {
    get: async (keys) => keys.map(() => undefined),
    set: async (entries) => void stored.push(...entries),
    claim: async () => true,
    delete: async () => {},
  }
  await using fixture = await startFixtureServers({
    rdap: (_req, res) => sendJson(res, 404, { errorCode: 404 }),
    options: { memory },
  })
  await askOne(fixture, 'free.com')
  expect(stored).toMatchObject([{ key: 'domain:registration:free.com', isCached: true }])
})

test('a registration stored without its time is still returned', async () => {
  await using fixture = await startFixtureServers({ rdap: (_req, res) => sendJson(res, 404, {}) })
  await askOne(fixture, 'free.com')
  for (const [key, value] of fixture.memory) {
    const { atMs: _atMs, ...older } = value as { readonly [name: string]: Json }
    fixture.memory.set(key, older)
  }
  const told = { cached: true, reason: 'unregistered', checkedAt: '2026-11-21T12:00:00.000Z' }
  expect(await askOne(fixture, 'free.com')).toMatchObject(told)
})

test('after a 404 without an RDAP body WHOIS is queried; alone it is never a denial', async () => {
  await using fixture = await startFixtureServers({
    rdap: (_req, res) => res.writeHead(404).end('<html>gone</html>'),
    whois: (line, socket) => socket.end(line === 'com' ? '% no server\n' : ''),
  })
  const outcome = await askOne(fixture, 'some.com')
  expect(outcome).toMatchObject({ status: 'unknown', facts: { registered: null, valid: false } })
  expect(fixture.whoisLines).toEqual(['com'])
})

test('an address of a WHOIS server that does not reply leaves time for its next one', async () => {
  const guard = createEgress({ allow: ['127.0.0.0/8'] })
  const givenMs: number[] = []
  const egress: Egress = {
    ...guard,
    async dial(request) {
      if (request.address !== '127.0.0.3') return guard.dial(request)
      givenMs.push(request.timeoutMs)
      throw new DialError('timeout', 'no connect')
    },
  }
  await using fixture = await startFixtureServers({
    dns: (name, type) =>
      name === 'registry.test' && type === 'A'
        ? { answers: ['127.0.0.3', '127.0.0.1'].map((data) => ({ name, type, ttl: 60, data })) }
        : undefined,
    whois: (line, socket) =>
      socket.end(line === 'zz' ? 'whois: registry.test\n' : 'Domain: x.zz\nRegistrar: Acme\n'),
    options: { egress, whoisTimeoutMs: 20_000 },
  })
  expect(await askOne(fixture, 'x.zz')).toMatchObject({ facts: { registered: true } })
  expect(givenMs).toEqual([10_000])
})

test('a zone whose record at the root server was cut off is not kept as one without a server', async () => {
  const replies: ((socket: Socket) => void)[] = [
    (socket) => socket.write('domain: ZZ\norganisation: Zz Ltd\n', () => socket.resetAndDestroy()),
    (socket) => socket.end('domain: ZZ\norganisation: Zz Ltd\nwhois: registry.test\n'),
    (socket) => socket.end('Domain Name: some.zz\nRegistrar: Acme\nStatus: ok\n'),
  ]
  await using fixture = await startFixtureServers({
    whois: (_line, socket) => replies.shift()?.(socket),
  })
  const cut = { status: 'unknown', reason: 'registry_failed', facts: { registered: null } }
  expect(await askOne(fixture, 'some.zz')).toMatchObject(cut)
  expect(await askOne(fixture, 'some.zz')).toMatchObject({ facts: { registered: true } })
  expect(fixture.whoisLines).toEqual(['zz', 'zz', 'some.zz'])
})

test('an RDAP reply may begin with a byte order mark', async () => {
  await using fixture = await startFixtureServers({
    rdap: (_req, res) => res.end(`\ufeff${JSON.stringify(rdapBody('some.com'))}`),
  })
  const found = { registered: true, registrar: 'Acme Registrar' }
  expect(await askOne(fixture, 'some.com')).toMatchObject({ facts: found })
  expect(fixture.whoisLines).toEqual([])
})

test('a name of which RDAP says only that it is reserved is not registered', async () => {
  const body = { objectClassName: 'domain', ldhName: 'some.com', status: ['reserved'] }
  await using fixture = await startFixtureServers({
    rdap: (_req, res) => sendJson(res, 200, body),
    whois: (_line, socket) => socket.end('% no server\n'),
  })
  const reserved = { status: 'unknown', facts: { valid: false, registered: null } }
  expect(await askOne(fixture, 'some.com')).toMatchObject(reserved)
  Object.assign(body, { nameservers: [{ ldhName: 'ns.some.com' }] })
  expect(await askOne(fixture, 'some.com')).toMatchObject({ facts: { registered: true } })
})

test('a 404 of an RDAP server is a denial even without a body', async () => {
  await using fixture = await startFixtureServers({
    rdap: (_req, res) => res.writeHead(404, { 'content-type': 'application/rdap+json' }).end(),
  })
  expect(await askOne(fixture, 'some.com')).toMatchObject({ facts: { registered: false } })
  expect(fixture.whoisLines).toEqual([])
})

test('a delegation outweighs a denial by the server of a parent zone', async () => {
  await using fixture = await startFixtureServers({
    zone: healthyZone('x.ac.uk'),
    rdap: (_req, res) => sendJson(res, 404, { errorCode: 404 }),
  })
  expect(await askOne(fixture, 'x.ac.uk')).toMatchObject({
    status: 'unknown',
    reason: 'no_registry_data',
    facts: { registered: null, dnsHealthy: true },
  })
})

test('a registration whose registrar gave no reply is cached for minutes only, or not at all', async () => {
  const zone = 'zz'
  const reply = 'Domain Name: x.zz\nRegistrar: Acme\nRegistrar WHOIS Server: registrar.test\n'
  const ended = new AbortController()
  const stored: number[] = []
  const memory: Memory = {
    get: async (keys) => keys.map(() => undefined),
    set: async (entries) => {
      for (const { key, ttlMs } of entries) if (key.includes(':registration:')) stored.push(ttlMs)
    },
    claim: async () => true,
    delete: async () => {},
  }
  let says = (socket: Socket): void => void socket.destroy()
  let replies = 0
  await using fixture = await startFixtureServers({
    whois: (line, socket) => {
      if (line === zone) socket.end('whois: registry.test\n')
      else if (replies++ % 2 === 0) socket.end(reply)
      else says(socket)
    },
    options: { memory },
  })
  await askOne(fixture, 'x.zz')
  expect(stored).toEqual([300_000])
  says = () => ended.abort()
  await ask(fixture, ['x.zz'], { signal: ended.signal })
  says = (socket) => socket.end(`${reply}Creation Date: 2020-01-01\n`)
  await askOne(fixture, 'x.zz')
  says = (socket) => socket.end('No match for "X.ZZ"\n')
  await askOne(fixture, 'x.zz')
  expect(stored).toEqual([300_000, 86_400_000, 86_400_000])
})

test('it outweighs the denial where its name servers give no reply to us, too', async () => {
  const zone = healthyZone('x.ac.uk')
  await using fixture = await startFixtureServers({
    // A network whose machines may only query their own resolver.
    zone: {
      ...zone,
      'ns.x.ac.uk A': [{ ...zone['ns.x.ac.uk A']?.[0], data: '192.0.2.1' } as never],
    },
    rdap: (_req, res) => sendJson(res, 404, { errorCode: 404 }),
  })
  expect(await askOne(fixture, 'x.ac.uk')).toMatchObject({
    facts: { registered: null, dnsHealthy: true },
    evidence: { dns: { name_server_checks: ['ns.x.ac.uk forbidden'] } },
  })
})

test('a call that ends before the registrar replies has what the registry has said', async () => {
  const over = new AbortController()
  await using fixture = await startFixtureServers({
    zone: healthyZone('x.zz'),
    whois(line, socket) {
      if (line === 'zz') socket.end('whois: registry.test\n')
      else if (fixture.whoisLines.length < 3)
        socket.end('Domain Name: x.zz\nRegistrar: Acme\nRegistrar WHOIS Server: registrar.test\n')
      else over.abort()
    },
  })
  const [answer] = await ask(fixture, ['x.zz'], { signal: over.signal })
  expect(answer).toMatchObject({
    kind: 'outcome',
    facts: { registered: true, registrar: 'Acme', createdDate: null },
  })
})

test('if no RDAP server is listed, WHOIS is queried by referrals of the root and the registry', async () => {
  await using fixture = await startFixtureServers({
    zone: healthyZone('x.zz'),
    whois(line, socket) {
      if (line === 'zz') socket.end('refer: registry.test\n')
      else if (fixture.whoisLines.length === 2) {
        socket.end('Domain Name: x.zz\nRegistrar: Acme\nRegistrar WHOIS Server: registrar.test\n')
      } else socket.end('Domain Name: x.zz\nCreation Date: 2001-02-03\nExpiry Date: 2030-02-03\n')
    },
  })
  expect((await askOne(fixture, 'x.zz')).facts.registered).toBe(true)
  expect(await askOne(fixture, 'x.zz')).toMatchObject({
    facts: {
      registrar: 'Acme',
      createdDate: '2001-02-03T00:00:00Z',
      expiryDate: '2030-02-03T00:00:00Z',
    },
    cached: true,
  })
  expect(fixture.whoisLines).toEqual(['zz', 'x.zz', 'x.zz'])
})

test('a denial by the server of a parent zone counts where nothing is delegated', async () => {
  await using fixture = await startFixtureServers({
    zone: healthyZone('other.ac.uk'),
    rdap: (_req, res) => sendJson(res, 404, { errorCode: 404 }),
  })
  expect((await askOne(fixture, 'x.ac.uk')).facts).toMatchObject({ registered: false })
})

test('a denial by the WHOIS server of a zone below a TLD counts although the name is delegated', async () => {
  await using fixture = await startFixtureServers({
    zone: healthyZone('x.ac.uk'),
    dns: (name, type) =>
      name === 'whois.nic.ac.uk' && type === 'A'
        ? { answers: [{ name, type, ttl: 60, data: '127.0.0.1' }] }
        : undefined,
    rdap: (_req, res) => sendJson(res, 500, {}),
    whois: (_line, socket) => socket.end('No match for "x.ac.uk".\n'),
  })
  expect((await askOne(fixture, 'x.ac.uk')).facts).toMatchObject({ registered: false })
  expect(fixture.whoisLines).toEqual(['x.ac.uk'])
})

test('a record of a lapsed registration counts although its name servers are still delegated', async () => {
  const status = ['pending delete', 'redemption period']
  await using fixture = await startFixtureServers({
    zone: healthyZone('x.ac.uk'),
    rdap: (_req, res) => sendJson(res, 200, rdapBody('x.ac.uk', { status })),
  })
  expect(await askOne(fixture, 'x.ac.uk')).toMatchObject({
    reason: 'registration_lapsed',
    facts: { registered: false },
  })
})

test.each<[string, object, boolean | null]>([
  ['without a status', { status: [], events: [], entities: [] }, true],
  ['with its name in Unicode', { ldhName: 'bücher.com' }, true],
  ['of another name', { ldhName: 'other.com' }, null],
])('an RDAP record %s: registered is %j', async (_, record, registered) => {
  await using fixture = await startFixtureServers({
    rdap: (_req, res) => sendJson(res, 200, rdapBody('xn--bcher-kva.com', record)),
    whois: (_line, socket) => socket.end(),
  })
  expect((await askOne(fixture, 'bücher.com')).facts.registered).toBe(registered)
})

test.each<[string, (res: ServerResponse) => void, string[], number]>([
  ['that does not reply', () => undefined, ['silent'], 50],
  [
    'that asks for a pause',
    (res) => sendJson(res.setHeader('retry-after', '60'), 503, {}),
    ['throttled'],
    20_000,
  ],
  ['that fails', (res) => sendJson(res, 503, {}), ['silent'], 20_000],
  ['that refuses a query', (res) => sendJson(res, 400, {}), [], 20_000],
])('a registry %s five times is paused accordingly', async (_, reply, pauses, rdapTimeoutMs) => {
  await using fixture = await startFixtureServers({
    rdap: (_req, res) => reply(res),
    options: { rdapTimeoutMs },
  })
  for (let asked = 0; asked < 5; asked++) await askOne(fixture, `a${asked}.com`)
  const why = [...fixture.memory]
    .filter(([key]) => key === 'domain:pause:rdap:rdap.test')
    .map(([, value]) => (value as { readonly why: string }).why)
  expect(why).toEqual(pauses)
})

test('a registrar whose server is paused adds nothing', async () => {
  await using fixture = await startFixtureServers({
    whois: (line, socket) =>
      socket.end(
        line === 'zz'
          ? 'refer: registry.test\n'
          : 'Domain Name: x.zz\nRegistrar: Acme\nRegistrar WHOIS Server: registrar.test\n',
      ),
  })
  const until = Date.parse('2026-11-21T13:00:00Z')
  fixture.memory.set('domain:pause:whois:registrar.test', { until, why: 'throttled' })
  expect((await askOne(fixture, 'x.zz')).facts).toMatchObject({
    registered: true,
    registrar: 'Acme',
  })
  expect(fixture.whoisLines).toEqual(['zz', 'x.zz'])
})

test('a WHOIS reply counts at its limit, although the server does not end it', async () => {
  await using fixture = await startFixtureServers({
    whois: (line, socket) => {
      if (line === 'zz') socket.end('refer: registry.test\n')
      else socket.write(`Domain Name: x.zz\nRegistrar: Acme\n${'# more\n'.repeat(50_000)}`)
    },
    options: { whoisTimeoutMs: 60_000 },
  })
  expect((await askOne(fixture, 'x.zz')).facts).toMatchObject({ registered: true })
})

test('a zone named like a member of Object.prototype is a zone like any other', async () => {
  await using fixture = await startFixtureServers({
    whois: (_line, socket) => socket.end('% nothing here'),
  })
  const { status, reason } = await askOne(fixture, 'name.constructor')
  expect([status, reason]).toEqual(['unknown', 'no_registry_data'])
  expect(fixture.whoisLines).toEqual(['constructor'])
})

test('a refusal for one name does not block others at the server', async () => {
  await using fixture = await startFixtureServers({
    rdap(req, res) {
      const name = req.url?.split('/').at(-1) ?? ''
      if (name.startsWith('odd')) res.writeHead(403).end()
      else sendJson(res, 200, rdapBody(name))
    },
    whois: (line, socket) =>
      void socket.end(
        line === 'lk'
          ? 'refer: registry.test'
          : line.startsWith('odd')
            ? '\n'
            : `Domain: ${line}\nCreated: 2020-01-01\nRegistrar: X`,
      ),
  })
  const reasons: string[] = []
  for (const name of ['odd.com', 'good.com', 'odd.lk', 'good.lk']) {
    reasons.push((await askOne(fixture, name)).reason)
  }
  expect(reasons).toEqual(['registry_throttled', 'registered', 'registry_throttled', 'registered'])
})

// Of a server whose clock is years behind.
const SERVER_TIME = 'Sat, 21 Nov 2020 11:00:00 GMT'

test.each([
  [{ date: SERVER_TIME, 'retry-after': 'Sat, 21 Nov 2020 11:02:00 GMT' }, 120],
  [{ date: SERVER_TIME, 'retry-after': SERVER_TIME }, 60],
  [{ 'retry-after': '0' }, 60],
  [{ 'retry-after': '90' }, 90],
])('a registry that throttles with %o is left alone for %i seconds', async (headers, seconds) => {
  await using fixture = await startFixtureServers({
    rdap: (_req, res) => res.writeHead(429, headers).end(),
  })
  const [later] = await ask(fixture, ['a.com'], { lane: 'bulk' })
  const [health] = (await fixture.engine.health()).slice(1)
  expect(later).toMatchObject({ kind: 'later', reason: 'registry_throttled' })
  expect(health).toMatchObject({ name: 'domain.rdap:rdap.test', detail: `paused for ${seconds} s` })
})

test('a name of a throttling registry is unknown in a single call, and postponed in a batch', async () => {
  await using fixture = await startFixtureServers({
    rdap: (_req, res) => res.writeHead(429, { 'retry-after': '7' }).end(),
    whois: (line, socket) => socket.end(line === 'com' ? '% none\n' : ''),
  })
  expect(await askOne(fixture, 'a.com')).toMatchObject({
    status: 'unknown',
    reason: 'registry_throttled',
    facts: { registered: null },
  })
  const [later] = await ask(fixture, ['b.com'], { lane: 'bulk' })
  expect(later).toMatchObject({
    kind: 'later',
    group: 'rdap:rdap.test',
    reason: 'registry_throttled',
    state: { throttles: 1 },
  })
  const [last] = await ask(fixture, ['b.com'], {
    lane: 'bulk',
    states: [{ throttles: 10 }],
  })
  expect(last).toMatchObject({ kind: 'outcome', status: 'unknown', reason: 'registry_throttled' })
})

test('a batch queries each name once and answers in order, each as soon as it is known', async () => {
  await using fixture = await startFixtureServers({
    zone: { ...healthyZone('a.com'), ...healthyZone('b.com') },
    rdap: (req, res) => sendJson(res, 200, rdapBody((req.url ?? '').slice('/domain/'.length))),
  })
  const answered: number[] = []
  const subjects = ['a.com', 'b.com', 'A.com.', 'www.a.com', 'bad..name', 'b.com']
  const answers = await ask(fixture, subjects, {
    lane: 'bulk',
    answered: (index) => answered.push(index),
  })
  expect(fixture.rdapPaths.toSorted()).toEqual(['/domain/a.com', '/domain/b.com'])
  expect(answered.toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5])
  expect(answers.map((answer) => answer.kind === 'outcome' && answer.facts.domain)).toEqual(
    subjects,
  )
  expect(answers.map((answer) => answer.kind === 'outcome' && answer.reason)).toEqual([
    'registered',
    'registered',
    'registered',
    'registered',
    'invalid_name',
    'registered',
  ])
})

test('concurrent tasks of a batch share the query of a name', async () => {
  const held: (() => void)[] = []
  await using fixture = await startFixtureServers({
    rdap(req, res) {
      held.push(() => sendJson(res, 200, rdapBody((req.url ?? '').slice('/domain/'.length))))
    },
  })
  const ended = new AbortController()
  const cut = ask(fixture, ['a.com'], { lane: 'bulk', signal: ended.signal })
  const both = ['a.com', 'www.a.com'].map((name) => ask(fixture, [name], { lane: 'bulk' }))
  await vi.waitUntil(() => held.length === 1)
  held.pop()?.()
  for (const [answer] of await Promise.all([cut, ...both])) {
    expect(answer).toMatchObject({ kind: 'outcome', reason: 'registered' })
  }
  expect(fixture.rdapPaths).toEqual(['/domain/a.com'])
  // A request that is ended does not end others for the same name.
  const first = ask(fixture, ['b.com'], { lane: 'bulk', signal: ended.signal })
  const second = ask(fixture, ['b.com'], { lane: 'bulk' })
  await vi.waitUntil(() => held.length === 1)
  ended.abort()
  await vi.waitUntil(() => held.length === 2)
  held.pop()?.()
  expect((await first)[0]).toMatchObject({ reason: 'timeout' })
  expect((await second)[0]).toMatchObject({ reason: 'registered' })
})

test('a batch of one zone queries the root of WHOIS once', async () => {
  await using fixture = await startFixtureServers({
    whois: (line, socket) =>
      socket.end(line === 'zz' ? 'refer: registry.test\n' : `${line} not found\n`),
  })
  const names = Array.from({ length: 30 }, (_, at) => `n${at}.zz`)
  const answers = await ask(fixture, names, { lane: 'bulk' })
  expect(answers).toHaveLength(30)
  for (const answer of answers) expect(answer).toMatchObject({ reason: 'unregistered' })
  expect(fixture.whoisLines.toSorted()).toEqual(['zz', ...names].toSorted())
})

test('names beyond the limit of a registry are postponed until it allows them', async () => {
  await using fixture = await startFixtureServers({
    rdap: (req, res) => sendJson(res, 200, rdapBody((req.url ?? '').slice('/domain/'.length))),
    options: { registryPerSecond: 1_000, holdMs: 5 },
  })
  const subjects = Array.from({ length: 40 }, (_, i) => `n${i}.com`)
  const groups: (string | undefined)[] = []
  const answers = await ask(fixture, subjects, {
    lane: 'bulk',
    // As many throttles as a name has at most, which do not end its wait for a place.
    states: subjects.map(() => ({ throttles: 10 })),
    answered: (index, _, group) => (groups[index] = group),
  })
  // Answered names have the same group as those that wait for it.
  for (const [at, { kind }] of answers.entries()) {
    expect(groups[at]).toBe(kind === 'outcome' ? 'rdap:rdap.test' : undefined)
  }
  const later = answers.filter((answer) => answer.kind === 'later')
  expect(later.length).toBeGreaterThan(20)
  expect(later.length).toBeLessThan(40)
  for (const answer of later) {
    expect(answer).toMatchObject({ group: 'rdap:rdap.test', reason: 'registry_pace', afterMs: 250 })
  }
  const states = later.map((answer) => answer.state)
  expect(states[0]).toEqual({ throttles: 10 })
})

test('when time runs out every name is unknown, with its DNS facts', async () => {
  await using fixture = await startFixtureServers({
    zone: healthyZone('slow.com'),
    rdap: () => undefined,
  })
  const [answer] = await ask(fixture, ['slow.com'], { signal: AbortSignal.timeout(300) })
  expect(answer).toMatchObject({ kind: 'outcome', status: 'unknown', reason: 'timeout' })
})

test('facts are unknown if DNS does not reply, and the engine is unhealthy if DNS fails', async () => {
  await using fixture = await startFixtureServers({
    rdap: (req, res) => sendJson(res, 200, rdapBody((req.url ?? '').slice('/domain/'.length))),
    dns(name) {
      if (name.endsWith('silent.com')) return null
      return name.endsWith('failing.com') ? { flags: 0x80 | 2 } : undefined
    },
  })
  expect((await askOne(fixture, 'silent.com')).facts).toMatchObject({
    registered: true,
    dnsHealthy: null,
    mxFound: null,
    spfFound: null,
    dmarcFound: null,
    parked: null,
  })
  expect((await askOne(fixture, 'failing.com')).facts).toMatchObject({ dnsHealthy: false })
})

test.each([
  [['redemption period', 'pending delete'], false],
  [['pendingDelete'], false],
  [['pending delete', 'pending restore'], false],
  [['auto renew period'], true],
  [['client hold'], true],
  [['client delete prohibited', 'pending transfer'], true],
])('a name of the statuses %j is registered: %s, delegated or not', async (status, registered) => {
  const events = [
    { eventAction: 'registration', eventDate: '2001-01-01T00:00:00Z' },
    { eventAction: 'expiration', eventDate: '2026-11-01T00:00:00Z' },
  ]
  await using fixture = await startFixtureServers({
    zone: healthyZone('x.com'),
    rdap: (_req, res) => sendJson(res, 200, rdapBody('x.com', { status, events })),
  })
  const first = await askOne(fixture, 'x.com')
  const again = await askOne(fixture, 'x.com')
  expect(again.cached).toBe(true)
  for (const { status: told, reason, facts } of [first, again]) {
    expect([told, reason]).toEqual(['answered', registered ? 'registered' : 'registration_lapsed'])
    expect(facts).toMatchObject({
      registered,
      valid: registered,
      createdDate: '2001-01-01T00:00:00Z',
      expiryDate: '2026-11-01T00:00:00Z',
    })
    expect(facts.signals.map(({ code }) => code)).not.toContain('unregistered')
  }
})

test.each([
  ['QUARANTINE', false],
  ['pendingDelete / redemptionPeriod', false],
  ['ok / autoRenewPeriod', true],
])('a name whose WHOIS status is %s is registered: %s', async (status, registered) => {
  await using fixture = await startFixtureServers({
    whois: (line, socket) =>
      socket.end(
        line === 'lk'
          ? 'refer: registry.test'
          : `domain: x.lk\nstatus: ${status}\nregistrar: Some Names\ncreated: 2020-01-02\n`,
      ),
  })
  expect((await askOne(fixture, 'x.lk')).facts).toMatchObject({
    registered,
    valid: registered,
    registrar: 'Some Names',
  })
})

test('statuses, age and expiry give the signals of the weights table', async () => {
  await using fixture = await startFixtureServers({
    zone: healthyZone('x.com'),
    rdap: (_req, res) =>
      sendJson(
        res,
        200,
        rdapBody('x.com', {
          status: ['clientHold', 'redemption period', 'pending delete'],
          events: [
            { eventAction: 'registration', eventDate: '2026-11-20T23:59:59Z' },
            { eventAction: 'expiration', eventDate: '2026-11-01T00:00:00Z' },
          ],
        }),
      ),
  })
  const { facts, reason } = await askOne(fixture, 'x.com')
  expect(reason).toBe('registration_lapsed')
  expect(facts.ageDays).toBe(1)
  expect(facts.signals.map((signal) => signal.code).toSorted()).toEqual([
    'expired',
    'hold',
    'pending_delete',
    'redemption',
    'under_7_days',
  ])
})

test('a public suffix has the records of its name, which make it no sign of risk', async () => {
  const queried: string[] = []
  await using fixture = await startFixtureServers({
    zone: healthyZone('gov.uk'),
    rdap: (req, res) => {
      queried.push(req.url ?? '')
      sendJson(res, 404, {})
    },
  })
  const used = await askOne(fixture, 'gov.uk')
  expect(used).toMatchObject({ status: 'answered', reason: 'public_suffix' })
  expect(used.facts).toMatchObject({
    valid: false,
    registered: false,
    dnsHealthy: true,
    mxFound: true,
    signals: [],
  })
  const empty = await askOne(fixture, 'co.uk')
  expect(empty.facts).toMatchObject({ registered: false, dnsHealthy: false, mxFound: false })
  expect(empty.facts.signals.map(({ code }) => code)).toEqual(['unregistered'])
  expect(queried).toEqual([])
})

test('parked and disposable names are recognized, and a mail server of its own is a sign against parking', async () => {
  const zone = (name: string, mx: boolean): Record<string, never[]> => {
    const records = healthyZone(name) as Record<string, never[]>
    const ns = [{ name, type: 'NS', ttl: 60, data: 'ns1.parking.test' }] as never[]
    const out = { ...records, [`${name} NS`]: ns }
    if (!mx) delete out[`${name} MX`]
    return out
  }
  await using fixture = await startFixtureServers({
    zone: {
      ...zone('parked.com', false),
      ...zone('mailed.com', true),
      ...healthyZone('throwaway.com'),
      ...healthyZone('another.com'),
      'another.com MX': [
        {
          name: 'another.com',
          type: 'MX',
          ttl: 60,
          data: { preference: 1, exchange: 'mx.throwaway.com' },
        },
      ] as never[],
    },
    rdap: (req, res) => sendJson(res, 200, rdapBody((req.url ?? '').slice('/domain/'.length))),
  })
  const parked = await askOne(fixture, 'parked.com')
  expect(parked).toMatchObject({ facts: { parked: true }, evidence: { parked: ['name_servers'] } })
  const mailed = await askOne(fixture, 'mailed.com')
  expect(mailed).toMatchObject({
    facts: { parked: false },
    evidence: { parked: ['name_servers', 'takes_mail'] },
  })
  expect((await askOne(fixture, 'throwaway.com')).facts.disposable).toBe(true)
  expect((await askOne(fixture, 'another.com')).facts.disposable).toBe(true)
})

test('if the resolver does not know the root, a name stays unknown, and no registry is paused', async () => {
  let isClosed = true
  let nowMs = 0
  await using fixture = await startFixtureServers({
    zone: healthyZone('good.com'),
    dns: () => (isClosed ? { flags: RA | 3 } : undefined),
    root: () => (isClosed ? { flags: RA | 3 } : { answers: [] }),
    rdap: (_req, res) => sendJson(res, 200, rdapBody('good.com')),
    now: () => nowMs,
    options: { clock: () => new Date(Date.UTC(2026, 10, 21) + nowMs) },
  })
  // As often as would make a silent server be left alone.
  for (let asked = 0; asked < 7; asked++) {
    const { status, reason, facts, evidence } = await askOne(fixture, `a${asked}.good.com`)
    expect([status, reason]).toEqual(['unknown', 'dns_unavailable'])
    expect(facts).toMatchObject({
      registered: null,
      dnsHealthy: null,
      mxFound: null,
      spfFound: null,
      dmarcFound: null,
      parked: null,
      signals: [],
    })
    expect(evidence).toMatchObject({ dns: { unavailable: true, delegation: 'unknown' } })
  }
  expect([...fixture.memory.keys()]).toEqual([])
  isClosed = false
  // By then the list of RDAP servers is read once more, too.
  nowMs = 3_600_000
  expect(await askOne(fixture, 'good.com')).toMatchObject({
    status: 'answered',
    reason: 'registered',
    facts: { registered: true, dnsHealthy: true, spfFound: true, dmarcFound: true },
  })
})

test('a few names of a batch are begun in each turn of the event loop, and finally all', async () => {
  const begun = new Set<string>()
  await using fixture = await startFixtureServers({
    options: {
      memory: {
        async get(keys) {
          for (const key of keys) if (key.startsWith('domain:registration:')) begun.add(key)
          return keys.map(() => undefined)
        },
        set: async () => undefined,
        claim: async () => true,
        delete: async () => undefined,
      },
    },
  })
  const stop = new AbortController()
  const names = Array.from({ length: 1_000 }, (_, no) => `name${no}.com`)
  const tasks = [names.slice(0, 500), names.slice(500)].map((subjects) =>
    ask(fixture, subjects, { lane: 'bulk', signal: stop.signal }),
  )
  const turns: number[] = []
  while (begun.size < names.length) {
    const before = begun.size
    await nextTurn()
    turns.push(begun.size - before)
  }
  stop.abort()
  await Promise.all(tasks)
  expect(Math.max(...turns)).toBeLessThan(100)
})
