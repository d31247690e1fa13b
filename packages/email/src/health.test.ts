import { expect, test } from 'vitest'
import { ask, testEngine, zoneOf } from './engine-fixture.ts'
import { startSmtp } from './smtp-fixture.ts'

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
