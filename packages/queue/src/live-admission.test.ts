import { expect, test } from 'vitest'
import {
  createLiveAdmission,
  SLOW_MS,
  type LiveLimits,
  type AdmittedSubject,
} from './live-admission.ts'

test('an account with silent subjects leaves capacity for another whose subjects are answered at once', () => {
  const admission = openRoom({ subjects: 200, slowPerAccount: 8 })
  for (let second = 0; second < 20; second += 1) {
    for (let at = 0; at < 50; at += 1) admission.ask('flooder')
    const other = admission.ask('other')
    expect(other.state).toBe('running')
    other.leave()
    admission.pass(1_000)
  }
  expect(admission.running('flooder')).toBeLessThanOrEqual(8 + 2)
  expect(admission.refusedOf('flooder')).toContain('account')
  expect(admission.refusedOf('other')).toEqual([])
})

test('a subject that is refused at once was never begun', () => {
  const admission = openRoom({ subjects: 40, slowPerAccount: 4 })
  for (let at = 0; at < 4; at += 1) admission.ask('flooder')
  admission.pass(SLOW_MS)
  const tried = admission.ask('flooder')
  const beyond = admission.ask('flooder')
  expect(tried.state).toBe('running')
  expect(beyond).toMatchObject({ state: 'account', hasBegun: false })
})

test('further subjects of an account with its share of slow ones are refused once they are slow too', () => {
  const admission = openRoom({ subjects: 40, slowPerAccount: 4 })
  const slow = Array.from({ length: 4 }, () => admission.ask('flooder'))
  admission.pass(SLOW_MS)
  const tried = admission.ask('flooder')
  admission.pass(SLOW_MS)
  expect(slow.map(({ state }) => state)).toEqual(['running', 'running', 'running', 'running'])
  expect(tried).toMatchObject({ state: 'account', hasBegun: true })
})

test('a subject with replies is not slow, however long it takes', () => {
  const admission = openRoom({ subjects: 40, slowPerAccount: 2 })
  const asked = Array.from({ length: 10 }, () => admission.ask('patient'))
  for (let at = 0; at < 10; at += 1) {
    admission.pass(SLOW_MS - 1)
    for (const one of asked) one.heard()
  }
  expect(asked.map(({ state }) => state)).toEqual(asked.map(() => 'running'))
})

test('at the limit, accounts are served in turn, however many subjects each has waiting', () => {
  const admission = openRoom({ subjects: 2, slowPerAccount: 100 })
  const first = [admission.ask('busy'), admission.ask('busy')]
  const busy = Array.from({ length: 50 }, () => admission.ask('busy'))
  const others = ['a', 'b', 'c'].map((name) => admission.ask(name))
  expect(others.map(({ state }) => state)).toEqual(['waiting', 'waiting', 'waiting'])
  for (const one of first) one.leave()
  busy[0]?.leave()
  others[0]?.leave()
  others[1]?.leave()
  expect(others[2]?.state).toBe('running')
  expect(busy.filter(({ hasBegun }) => hasBegun)).toHaveLength(2)
})

test('all slow subjects together leave half of the limit, and the account with the most is displaced', () => {
  const admission = openRoom({ subjects: 20, slowPerAccount: 8 })
  const many = Array.from({ length: 8 }, () => admission.ask('many'))
  const few = [admission.ask('few'), admission.ask('few'), admission.ask('few')]
  admission.pass(SLOW_MS)
  expect(few.map(({ state }) => state)).toEqual(['running', 'running', 'running'])
  expect(many.map(({ state }) => state).filter((state) => state === 'server')).toHaveLength(1)
  expect(many.at(-1)?.state).toBe('server')
})

test('a subject that waits too long for admission is refused, and an expired one is ended', () => {
  const admission = openRoom({ subjects: 2, slowPerAccount: 100 })
  const held = [admission.ask('a', 3_500), admission.ask('a', 3_500)]
  const waiting = admission.ask('b')
  admission.pass(1_500)
  for (const one of held) one.heard()
  admission.pass(1_500)
  expect(waiting).toMatchObject({ state: 'room', hasBegun: false })
  admission.pass(500)
  expect(held.map(({ state }) => state)).toEqual(['expired', 'expired'])
  expect(admission.waitingCount()).toBe(0)
  expect([admission.ask('c').state, admission.ask('c').state]).toEqual(['running', 'running'])
})

test('a subject that leaves twice, or after it was displaced, is released once', () => {
  const admission = openRoom({ subjects: 1, slowPerAccount: 1 })
  const first = admission.ask('a', 100)
  admission.pass(100)
  const second = admission.ask('a')
  first.leave()
  first.leave()
  first.heard()
  expect(second.state).toBe('running')
  expect(admission.ask('b').state).toBe('waiting')
})

interface Asked {
  state: string
  hasBegun: boolean
  leave(): void
  heard(): void
}

/** An admission with a clock of the test, and the result for each subject. */
function openRoom(limits: LiveLimits) {
  let nowMs = 0
  const admission = createLiveAdmission(limits, () => nowMs)
  const asked: (Asked & { readonly account: string })[] = []
  return {
    waitingCount: admission.waitingCount,
    running: (account: string) =>
      asked.filter((one) => one.account === account && one.state === 'running').length,
    refusedOf: (account: string) =>
      asked
        .filter(
          (one) => one.account === account && ['account', 'room', 'server'].includes(one.state),
        )
        .map(({ state }) => state),
    pass(ms: number) {
      nowMs += ms
      admission.sweep()
    },
    ask(account: string, lastsMs = 60_000): Asked {
      let place: AdmittedSubject | undefined
      const one = {
        account,
        state: 'waiting',
        hasBegun: false,
        leave() {
          one.state = 'left'
          place?.leave()
        },
        heard: () => place?.heard(),
      }
      asked.push(one)
      admission.request({
        account,
        endsAtMs: nowMs + lastsMs,
        begin(given) {
          place = given
          one.state = 'running'
          one.hasBegun = true
        },
        refuse(cause) {
          one.state = cause
        },
        expire() {
          one.state = 'expired'
        },
      })
      return one
    },
  }
}
