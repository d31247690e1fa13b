import { expect, test } from 'vitest'
import { ask, brief, outcomeOf, testEngine, zoneOf } from '@plumbline/email/engine-fixture'
import { canRunPostfix, canRunPostgrey, startPostfix } from '@plumbline/testkit/postfix'

const USERS = {
  ada: 'mailbox',
  grace: 'mailbox',
  postmaster: 'mailbox',
  full: 'full',
  grey: 'greylisted',
  grey2: 'greylisted',
  sales: 'alias',
}

const zone = zoneOf({
  'real.test': '127.0.0.1',
  'all.test': '127.0.0.1',
  'elsewhere.test': '127.0.0.1',
  'nosender.test': '127.0.0.2',
  'noclient.test': '127.0.0.3',
})

/** Times of a server that checks tables and a policy before it answers. */
const times = {
  connectMs: 5_000,
  greetingMs: 10_000,
  commandMs: 10_000,
  recipientMs: 10_000,
  sessionMs: 60_000,
}

// Postfix is a package of Debian and needs root; otherwise the tests are skipped.
test.skipIf(!canRunPostfix())(
  'every verdict is right against Postfix, and no message is sent',
  async () => {
    await using postfix = await startPostfix(USERS)
    await using engine = testEngine(postfix.port, zone, { times })
    const signal = AbortSignal.timeout(300_000)
    const expected: Readonly<Record<string, string>> = {
      'ada@real.test': 'deliverable accepted',
      'grace@real.test': 'deliverable accepted',
      'sales@real.test': 'deliverable accepted',
      'nobody@real.test': 'undeliverable mailbox_not_found',
      'full@real.test': 'risky mailbox_full',
      'anyone@all.test': 'risky accept_all',
      'ada@elsewhere.test': 'unknown relay_denied',
      'ada@nosender.test': 'unknown blocked',
      'ada@noclient.test': 'unknown blocked',
    }
    const subjects = Object.keys(expected)
    const answers = await ask(engine, subjects, { depth: 'extended', lane: 'bulk', signal })
    expect(Object.fromEntries(answers.map((answer, at) => [subjects[at], brief(answer)]))).toEqual(
      expected,
    )
    expect(outcomeOf(answers[0]).facts.catchAll).toBe(false)

    expect(await postfix.queued()).toBe(0)
  },
)

// The same with postgrey.
test.skipIf(!canRunPostfix() || !canRunPostgrey())(
  'a mailbox behind postgrey waits, and is found after the greylisting delay',
  async () => {
    await using postfix = await startPostfix(USERS)
    await using engine = testEngine(postfix.port, zone, { times })
    const signal = AbortSignal.timeout(300_000)
    const [live] = await ask(engine, ['grey@real.test'], { lane: 'live', signal })
    expect(brief(live)).toBe('unknown greylisted')
    expect(outcomeOf(live).evidence['retry_after']).toBe(300)
    // A mailbox that postgrey has not seen, however long the other took.
    const subjects = ['grey2@real.test']
    const [first] = await ask(engine, subjects, { lane: 'bulk', signal })
    expect(first).toMatchObject({ kind: 'later', reason: 'greylisted', afterMs: 300_000 })
    const states = [first?.kind === 'later' ? first.state : undefined]
    const again = async () =>
      brief((await ask(engine, subjects, { lane: 'bulk', states, signal }))[0])
    await expect.poll(again, { interval: 500 }).toBe('deliverable accepted')
    expect(await postfix.queued()).toBe(0)
  },
)
