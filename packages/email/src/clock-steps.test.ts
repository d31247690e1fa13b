import { expect, onTestFinished, test, vi } from 'vitest'
import { createDictionaryAttackGuard } from './dictionary-attack-guard.ts'
import { ask, brief, testEngine, zoneOf } from './engine-fixture.ts'
import { processLimiter, processMemory, startSmtp } from './smtp-fixture.ts'

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000

test('an unreachable host, and an old MX record, are tried again in time though the clock was set back', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const monotonic = (): number => performance.now()
  const zone = zoneOf({ 'down.test': '127.0.0.77', 'moved.test': '127.0.0.1' })
  await using server = await startSmtp({})
  await using engine = testEngine(server.port, zone, {
    memory: processMemory(monotonic),
    limiter: processLimiter(monotonic),
  })
  const asked = async (local: string): Promise<unknown> =>
    (await ask(engine, [`${local}@down.test`, `${local}@moved.test`])).map(brief)
  expect(await asked('a')).toEqual(['unknown connect_failed', 'deliverable accepted'])
  zone['moved.test MX'] = [{ preference: 0, exchange: '.' }]
  await using up = await startSmtp({}, '127.0.0.77', server.port)
  vi.setSystemTime(Date.now() - DAY_MS)
  vi.advanceTimersByTime(MINUTE_MS + 1)
  expect(await asked('b')).toEqual(['deliverable accepted', 'undeliverable null_mx'])
  expect(up.sessions.all).toBe(1)
})

test('an account is stopped at a domain for no longer though the clock was set back', async () => {
  const clock = { nowMs: Date.now() }
  const limits = { dictionaryAsked: 2, dictionaryShare: 0.5 }
  const memory = processMemory(() => 0)
  const fail = (error: unknown): void => expect.unreachable(String(error))
  const guard = createDictionaryAttackGuard(limits, memory, () => clock.nowMs, fail)
  const pair = guard.pair('account', 'a.test')
  for (let asked = 0; asked < 2; asked++) guard.note(pair, true)
  expect(guard.stops(pair)).toBe(true)
  clock.nowMs -= DAY_MS
  expect(await guard.stops(pair)).toBe(false)
  for (let asked = 0; asked < 2; asked++) guard.note(pair, true)
  expect(guard.stops(pair)).toBe(true)
})
