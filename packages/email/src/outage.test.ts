import { expect, test } from 'vitest'
import type { Answer } from '@plumbline/ports/engine'
import { ask, brief, testEngine, zoneOf } from './engine-fixture.ts'
import { fakeResolver, startSmtp } from './smtp-fixture.ts'

const AGREEABLE = { recipient: () => '250 2.1.5 ok' }

const stateOf = (answer: Answer<'email'>): Extract<Answer, { kind: 'later' }>['state'] =>
  answer.kind === 'later' ? answer.state : undefined

test('while our resolver is down all subjects wait in one group, and none uses up its own attempts', async () => {
  await using smtp = await startSmtp(AGREEABLE)
  const subjects = ['one@a.test', 'two@b.test', 'six@c.test']
  const zone: Parameters<typeof fakeResolver>[0] = {
    ...zoneOf({ 'a.test': '127.0.0.1', 'b.test': '127.0.0.1' }),
    'c.test MX': 'failed',
  }
  const there = fakeResolver(zone)
  let isDown = true
  let nowMs = Date.now()
  let asked = 0
  await using engine = testEngine(smtp.port, zone, {
    clock: () => nowMs,
    resolver: {
      ...there,
      resolve: async (name, type, options) => {
        asked++
        if (isDown) return { kind: 'failed', reason: 'timeout' }
        return await there.resolve(name, type, options)
      },
    },
  })
  let states: (ReturnType<typeof stateOf> | undefined)[] = []
  for (let hour = 0; hour < 2; hour++) {
    asked = 0
    const answers = await ask(engine, subjects, { lane: 'bulk', states })
    for (const answer of answers) {
      expect(answer).toMatchObject({
        kind: 'later',
        group: 'silence:resolver',
        afterMs: 30_000,
        reason: 'dns_unavailable',
      })
    }
    // One query for each domain, and one test query of the resolver for all.
    expect(asked).toBe(subjects.length + 1)
    states = answers.map(stateOf)
    nowMs += 3_000_000
  }
  isDown = false
  const answers = await ask(engine, subjects, { lane: 'bulk', states })
  expect(answers.map(brief)).toEqual([
    'deliverable accepted',
    'deliverable accepted',
    'later dns_failed',
  ])
  isDown = true
  nowMs += 3_000_000
  // But not for ever.
  const late = await ask(engine, ['nine@d.test'], { lane: 'bulk', states })
  expect(late.map(brief)).toEqual(['unknown dns_unavailable'])
})

/** An engine whose resolver is down while `world.isDown`; `sick.test` always fails. */
function engineOf(
  port: number,
  world: {
    readonly isDown: boolean
    readonly nowMs: number
    readonly hangs?: (name: string) => boolean
  },
): ReturnType<typeof testEngine> {
  const zone = { ...zoneOf({ 'a.test': '127.0.0.1' }), 'sick.test MX': 'failed' as const }
  const there = fakeResolver(zone)
  return testEngine(port, zone, {
    clock: () => world.nowMs,
    resolver: {
      ...there,
      resolve: async (name, type, options) => {
        if (!world.isDown) return await there.resolve(name, type, options)
        if (world.hangs?.(name) === true) return await new Promise<never>(() => undefined)
        return { kind: 'failed', reason: 'timeout' }
      },
    },
  })
}

test('a failure just before our resolver recovered does not count as an attempt', async () => {
  await using smtp = await startSmtp(AGREEABLE)
  const world = { isDown: true, nowMs: Date.now() }
  await using engine = engineOf(smtp.port, world)
  const fail = async (): Promise<Answer<'email'> | undefined> => {
    return (await ask(engine, ['two@sick.test'], { lane: 'bulk' }))[0]
  }
  expect(await fail()).toMatchObject({ group: 'silence:resolver' })
  world.isDown = false
  world.nowMs += 3_000
  expect(await fail()).toMatchObject({ group: 'silence:resolver', reason: 'dns_unavailable' })
  world.nowMs += 60_000
  expect(await fail()).toMatchObject({ group: 'no_reply:sick.test', reason: 'dns_failed' })
})

test.each(['refuses every question', 'stays silent'])(
  'a single call does not blame a domain while our resolver %s',
  async (how) => {
    await using smtp = await startSmtp(AGREEABLE)
    // Queries of the call have failed by then; the test query hangs.
    const hangs = (name: string): boolean => how === 'stays silent' && name.startsWith('plumbline-')
    const world = { isDown: true, nowMs: Date.now(), hangs }
    await using engine = engineOf(smtp.port, world)
    const [answer] = await ask(engine, ['one@a.test'], { lane: 'live' })
    expect(answer).toMatchObject({
      status: 'unknown',
      reason: 'dns_unavailable',
      evidence: { retry_after: expect.any(Number) },
    })
    world.isDown = false
    world.nowMs += 3_000_000
    const answers = await ask(engine, ['one@a.test', 'two@sick.test'], { lane: 'live' })
    expect(answers.map(brief)).toEqual(['deliverable accepted', 'unknown dns_failed'])
  },
)

test('while our network is down hosts do not count as silent; if other hosts are reached, they do', async () => {
  await using smtp = await startSmtp(AGREEABLE)
  const dead = Object.fromEntries(
    Array.from({ length: 12 }, (_, no) => [`dead${no}.test`, `127.9.9.${no + 1}`]),
  )
  const zone: ReturnType<typeof zoneOf> = {
    ...zoneOf({ ...dead, 'a.test': '127.0.0.1', 'large.test': '127.0.0.1' }),
    'none.test MX': [{ preference: 10, exchange: 'mx.none.test' }],
  }
  let nowMs = Date.now()
  await using engine = testEngine(smtp.port, zone, {
    clock: () => nowMs,
    selfTest: { targets: ['large.test'] },
  })
  expect((await ask(engine, ['ada@a.test'])).map(brief)).toEqual(['deliverable accepted'])
  const fail = async (from: number): Promise<Answer<'email'> | undefined> => {
    nowMs += 60_000
    const subjects = Array.from({ length: 6 }, (_, at) => `ada@dead${from + at}.test`)
    let last: Answer<'email'> | undefined
    for (const subject of subjects) {
      // A domain whose host has no address is none that was reached.
      await ask(engine, ['ada@none.test'], { lane: 'bulk' })
      ;[last] = await ask(engine, [subject], { lane: 'bulk' })
    }
    return last
  }
  expect(await fail(0)).toMatchObject({ group: 'no_reply:dead5.test', isOwnWait: true })
  zone['mx.large.test A'] = ['127.9.9.99']
  expect(await fail(6)).toMatchObject({
    group: 'silence:network',
    afterMs: 30_000,
    reason: 'connect_failed',
  })
})
