import type { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { ask, brief, outcomeOf, testEngine, zoneOf } from './engine-fixture.ts'
import { createProbeQueue, type HostsRoute, type Probe } from './probe-queue.ts'
import { startSmtp } from './smtp-fixture.ts'

const PATIENT_TIMES = {
  connectMs: 20_000,
  greetingMs: 20_000,
  commandMs: 20_000,
  recipientMs: 20_000,
  sessionMs: 60_000,
}

test('a connection that no probe waits for any more is closed while its host is still silent', async () => {
  await using server = await startSmtp({ greeting: null })
  const zone = zoneOf({ 'silent.test': '127.0.0.1' })
  await using engine = testEngine(server.port, zone, { times: PATIENT_TIMES })
  const over = new AbortController()
  const asked = ask(engine, ['a@silent.test'], { signal: over.signal })
  await expect.poll(() => server.sessions.open).toBe(1)
  over.abort()
  expect(outcomeOf((await asked)[0]).reason).toBe('timeout')
  await expect.poll(() => server.sessions.open).toBe(0)
})

test('a host that was given up is tried again for the next caller', async () => {
  let isSilent = true
  await using server = await startSmtp({
    raw: (socket) => {
      if (isSilent) return
      socket.on('data', () => socket.write('250 2.1.5 ok\r\n'.repeat(3)))
      socket.write('220 mx.test ESMTP\r\n')
    },
  })
  const zone = zoneOf({ 'moody.test': '127.0.0.1' })
  await using engine = testEngine(server.port, zone, { times: PATIENT_TIMES })
  const over = new AbortController()
  const given = ask(engine, ['a@moody.test'], { signal: over.signal })
  await expect.poll(() => server.sessions.open).toBe(1)
  isSilent = false
  over.abort()
  await given
  const [answer] = await ask(engine, ['b@moody.test'])
  expect(outcomeOf(answer).reason).not.toBe('timeout')
})

test('waiting callers are notified of each reply of the host, and of nothing while it is silent', async () => {
  await using talking = await startSmtp({})
  await using silent = await startSmtp({ greeting: null }, '127.0.0.2', talking.port)
  const zone = zoneOf({ 'talking.test': '127.0.0.1', 'silent.test': '127.0.0.2' })
  await using engine = testEngine(talking.port, zone)
  const heard: number[] = []
  await ask(engine, ['a@talking.test', 'a@silent.test'], { heard: (index) => heard.push(index) })
  expect(silent.sessions.all).toBeGreaterThan(0)
  expect(heard.length).toBeGreaterThan(1)
  expect(new Set(heard)).toEqual(new Set([0]))
})

test('a silent group keeps a limited number of callers waiting, and others are put off without an outcome', async () => {
  await using server = await startSmtp({ greeting: null })
  const zone = zoneOf({ 'silent.test': '127.0.0.1' })
  await using engine = testEngine(server.port, zone, {
    times: PATIENT_TIMES,
    limits: { silentProbes: 3, silentMs: 50 },
  })
  const over = new AbortController()
  const began = performance.now()
  const first = ask(engine, ['a@silent.test'], { signal: over.signal })
  await expect.poll(() => performance.now() - began).toBeGreaterThan(100)
  const names = Array.from({ length: 10 }, (_, at) => `b${at}@silent.test`)
  let waiting = names.length
  const rest = names.map(async (name) => {
    const [answer] = await ask(engine, [name], { signal: over.signal })
    if (!over.signal.aborted) waiting -= 1
    return brief(answer)
  })
  // Besides those that wait, each of the two connections may have taken a probe.
  await expect.poll(() => waiting).toBeLessThanOrEqual(3 + 2)
  over.abort()
  const reasons = await Promise.all(rest)
  const putOff = reasons.filter((reason) => reason === 'later rate_limited')
  expect(putOff.length).toBeGreaterThanOrEqual(5)
  expect(reasons.filter((reason) => reason === 'unknown timeout')).toHaveLength(
    reasons.length - putOff.length,
  )
  await first
})

test('live probes of one group are sent in turn by account, however many each has waiting', () => {
  const queue = createProbeQueue()
  for (let at = 0; at < 20; at += 1) queue.push(probeOf('busy', `busy${at % 4}.test`), ROUTE)
  queue.push(probeOf('other', 'other.test'), ROUTE)
  queue.push(probeOf('third', 'busy0.test'), ROUTE)
  const order: string[] = []
  for (let taken = queue.take(1); taken !== null; taken = queue.take(1)) {
    order.push(...taken.probes.map(({ account }) => account))
  }
  expect(order).toHaveLength(22)
  expect(order.slice(0, 4)).toContain('other')
  expect(order.slice(0, 4)).toContain('third')
})

test('an address that another account waits for too is sent when it is the turn of either', async () => {
  const named: string[] = []
  const held = Promise.withResolvers<Socket>()
  await using server = await startSmtp({
    offers: [],
    recipient(address, { socket }) {
      if (named.push(address) > 1) return '250 2.1.5 ok'
      held.resolve(socket)
      return null
    },
  })
  await using engine = testEngine(server.port, zoneOf({ 'a.test': '127.0.0.1' }), {
    times: PATIENT_TIMES,
    limits: { connectionsPerGroup: 1, recipientsPerTransaction: 1, recipientsPerMinute: 6_000 },
  })
  const subjects = Array.from({ length: 20 }, (_, at) => `busy${at}@a.test`)
  const busy = ask(engine, [...subjects, 'shared@a.test'], { account: 'busy' })
  const socket = await held.promise
  const other = ask(engine, ['shared@a.test'], { account: 'other' })
  await new Promise(setImmediate)
  socket.write('250 2.1.5 ok\r\n')
  expect((await other).map(brief)).toEqual(['deliverable accepted'])
  await busy
  expect(named.indexOf('shared@a.test')).toBeLessThanOrEqual(2)
  expect(named).toHaveLength(subjects.length + 1)
})

test('an account whose callers gave up has its next turn no later than others', () => {
  const queue = createProbeQueue()
  const given = Array.from({ length: 50 }, () => probeOf('hasty', 'a.test'))
  for (const probe of given) queue.push(probe, ROUTE)
  for (let at = 0; at < 20; at += 1) queue.push(probeOf('steady', 'b.test'), ROUTE)
  for (const probe of given) {
    probe.settled = true
    probe.onGivenUp?.()
  }
  queue.push(probeOf('hasty', 'c.test'), ROUTE)
  const order = Array.from({ length: 3 }, () => queue.take(1)?.probes[0]?.account)
  expect(order).toContain('hasty')
})

test('an account that had no probes does not get the turns that it missed', () => {
  const queue = createProbeQueue()
  for (let at = 0; at < 50; at += 1) queue.push(probeOf('steady', 'a.test'), ROUTE)
  for (let at = 0; at < 40; at += 1) queue.take(1)
  for (let at = 0; at < 10; at += 1) queue.push(probeOf('late', 'b.test'), ROUTE)
  const order = Array.from({ length: 10 }, () => queue.take(1)?.probes[0]?.account)
  expect(order.filter((account) => account === 'steady').length).toBeGreaterThanOrEqual(4)
})

const ROUTE: HostsRoute = {
  kind: 'hosts',
  hosts: ['mx.test'],
  exchanges: ['mx.test'],
  implicit: false,
}

function probeOf(account: string, domain: string): Probe {
  return {
    address: `a@${domain}`,
    memoryKey: `a@${domain}`,
    account,
    local: 'a',
    domain,
    utf8: false,
    lane: 'live',
    depth: 'basic',
    queuedMs: 0,
    attempts: 0,
    settled: false,
    settle: () => undefined,
    heard: () => undefined,
    onGivenUp: null,
  }
}
