import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { ask, brief, testEngine, zoneOf } from './engine-fixture.ts'
import { processMemory, startSmtp } from './smtp-fixture.ts'

test('the refusal by a domain with its own mail server is reported without its name, which would reveal the subject', async () => {
  await using smtp = await startSmtp({
    recipient: () => '554 5.7.1 Client host blocked using zen.spamhaus.org',
  })
  const zone = zoneOf({ 'small-firm.test': '127.0.0.1' })
  await using engine = testEngine(smtp.port, zone)
  const subjects = ['one@small-firm.test', 'two@small-firm.test', 'six@small-firm.test']
  for (const subject of subjects) await ask(engine, [subject])
  const [probing] = await engine.health()
  expect(probing).toEqual({
    name: 'smtp probing',
    status: 'degraded',
    detail: 'refused by 1 mail host of others',
  })
})

test('a refusing host that is forgotten, as others were asked since, is still not connected to, and reported', async () => {
  await using smtp = await startSmtp({ greeting: '554 5.7.1 your address is blocked' })
  const domains = Array.from({ length: 4 }, (_, n) => `h${n}.test`)
  const zone = zoneOf(Object.fromEntries(domains.map((domain) => [domain, '127.0.0.1'])))
  const memory = processMemory()
  let reads = 0
  const counting: typeof memory = {
    ...memory,
    get(keys) {
      reads += keys.filter((key) => key.startsWith('email:breaker:h0.test')).length
      return memory.get(keys)
    },
  }
  await using engine = testEngine(smtp.port, zone, { memory: counting, limits: { quietGroups: 0 } })
  for (const domain of domains) {
    for (let n = 0; n < 3; n++) await ask(engine, [`u${n}@${domain}`])
  }
  // The connections end soon after the answers.
  for (let n = 0; n < 20; n++) await turn()
  expect((await engine.health())[0]?.detail).toBe('refused by 1 mail host of others')
  const [sessions, known] = [smtp.sessions.all, reads]
  const [answer] = await ask(engine, ['again@h0.test'])
  expect([brief(answer), smtp.sessions.all]).toEqual(['unknown blocked', sessions])
  // A group in memory reads its circuit twice a minute at most.
  expect(reads).toBe(known + 1)
})
