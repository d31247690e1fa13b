import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createFairSemaphore } from './fair-semaphore.ts'
import type { FairLimits, FairSemaphore, PermitRequest, Release } from './fair-semaphore.ts'

type Request = PermitRequest & { readonly signal: AbortSignal }

const NEVER = new AbortController().signal

/** Callers of a semaphore, by name, as they get their permits. */
function callersOf({ group, ...limits }: Partial<FairLimits> & { readonly group?: number }) {
  const clock = { nowMs: 0 }
  const now = (): number => clock.nowMs
  const semaphore: FairSemaphore = createFairSemaphore({
    shared: 8,
    live: 0,
    ...limits,
    ...(group === undefined ? {} : { groups: { permits: group, slowMs: 1_000, now } }),
  })
  const order: string[] = []
  const leave = new Map<string, Release>()
  const ask = (name: string, account: string, more: Partial<Request> = {}): void => {
    void semaphore.enter({ lane: 'bulk', account, signal: NEVER, ...more }).then((exit) => {
      order.push(exit === null ? `${name} gave up` : name)
      if (exit !== null) leave.set(name, exit)
    })
  }
  return {
    clock,
    ask,
    askAll: (names: string, account: string, more?: Partial<Request>) => {
      for (const name of names) ask(name, account, more)
    },
    /** Releases permits, and returns who has got one since the last call. */
    async next(...released: string[]): Promise<string> {
      for (const name of released) leave.get(name)?.()
      await new Promise(setImmediate)
      return order.splice(0).join('')
    },
    giveUp: (name: string) => leave.get(name)?.(false),
  }
}

test('the account with the fewest permits is next, however many callers others have waiting', async () => {
  const { askAll, next } = callersOf({ shared: 4 })
  askAll('abcdefgh', 'large')
  askAll('xyz', 'small')
  expect(await next()).toBe('abcd')
  expect(await next('a')).toBe('x')
  expect(await next('b')).toBe('y')
  // Two each: in turn.
  expect(await next('x')).toBe('z')
  expect(await next('c')).toBe('e')
})

test('one account leaves an eighth of the permits to others', async () => {
  const { askAll, next } = callersOf({ shared: 8 })
  askAll('abcdefghi', 'large')
  expect(await next()).toBe('abcdefg')
  askAll('xy', 'small')
  expect(await next()).toBe('x')
})

test('live callers have permits of their own, and are first in the others', async () => {
  const { askAll, next } = callersOf({ shared: 4, live: 2 })
  askAll('abcdef', 'large')
  expect(await next()).toBe('abcd')
  askAll('xyz', 'small', { lane: 'live' })
  expect(await next()).toBe('xy')
  expect(await next('a')).toBe('z')
  expect(await next('b')).toBe('e')
  expect(await next('x')).toBe('f')
})

test('live callers leave an eighth of the shared permits to bulk ones', async () => {
  const { askAll, next } = callersOf({ shared: 8, live: 2 })
  for (const account of 'abcdefghij') askAll(account, account, { lane: 'live' })
  askAll('xy', 'bulk')
  expect(await next()).toBe('abcdefghix')
  expect(await next('a')).toBe('j')
  expect(await next('b')).toBe('y')
})

test('a group whose work is slow keeps few permits, and others overtake it', async () => {
  const { askAll, ask, next, clock } = callersOf({ shared: 40, group: 2 })
  askAll('abcd', 'one', { group: 'slow' })
  ask('x', 'one', { group: 'other' })
  expect(await next()).toBe('abx')
  clock.nowMs = 5_000
  expect(await next('a')).toBe('c')
  expect(await next('b')).toBe('d')
})

test('a group whose work is quick gets more permits with each, up to half of the shared ones', async () => {
  const { askAll, next, clock } = callersOf({ shared: 10, group: 2 })
  askAll('abcdefghijklmn', 'one', { group: 'quick' })
  expect(await next()).toBe('ab')
  expect(await next('a')).toBe('cd')
  expect(await next('b', 'c')).toBe('efgh')
  // Five of them run.
  expect(await next('d')).toBe('i')
  clock.nowMs = 1_000
  expect(await next('e', 'f', 'g')).toBe('')
  expect(await next('h')).toBe('j')
})

test('work that was given up does not show that its group is quick', async () => {
  const { askAll, next, giveUp } = callersOf({ shared: 40, group: 2 })
  askAll('abcde', 'one', { group: 'silent' })
  expect(await next()).toBe('ab')
  giveUp('a')
  expect(await next()).toBe('c')
  giveUp('b')
  expect(await next()).toBe('d')
})

test('a caller that gives up neither gets a permit nor holds up those behind it', async () => {
  const { ask, next } = callersOf({ shared: 1 })
  const stop = new AbortController()
  ask('a', 'one')
  ask('b', 'one', { signal: stop.signal })
  ask('c', 'one')
  expect(await next()).toBe('a')
  stop.abort()
  expect(await next()).toBe('b gave up')
  ask('d', 'one', { signal: stop.signal })
  expect(await next()).toBe('d gave up')
  expect(await next('a')).toBe('c')
})

test('a permit that is released twice admits one caller', async () => {
  const { askAll, next } = callersOf({ shared: 1 })
  askAll('abc', 'one')
  expect(await next()).toBe('a')
  expect(await next('a', 'a')).toBe('b')
})

test('a permit without waiting is null while others wait for it, and comes back', async () => {
  const semaphore = createFairSemaphore({ shared: 1, live: 0 })
  const first = semaphore.tryEnter({ lane: 'bulk', account: 'one' })
  expect(semaphore.tryEnter({ lane: 'live', account: 'two' })).toBeNull()
  const second = semaphore.enter({ lane: 'bulk', account: 'two', signal: NEVER })
  first?.()
  expect(semaphore.tryEnter({ lane: 'bulk', account: 'one' })).toBeNull()
  const leave = await second
  leave?.()
  expect(semaphore.tryEnter({ lane: 'bulk', account: 'one' })).not.toBeNull()
})

test('numbers that would let nobody in are refused', () => {
  expect(() => callersOf({ shared: 0 })).toThrow(RangeError)
  expect(() => callersOf({ group: 0 })).toThrow(RangeError)
})

const ACCOUNTS = ['a', 'b', 'c']
const GROUPS = [undefined, 'x', 'y', 'z']

test('whoever waits is served once others leave, and no limit is exceeded', async () => {
  const step = fc.record({
    lane: fc.constantFrom('live' as const, 'bulk' as const),
    account: fc.constantFrom(...ACCOUNTS),
    group: fc.constantFrom(...GROUPS),
    act: fc.constantFrom('wait' as const, 'abort' as const, 'release' as const),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 80 }), async (steps) => {
      const groups = { permits: 2, slowMs: 0, now: () => 0 }
      const semaphore = createFairSemaphore({ shared: 8, live: 4, groups })
      const open: { readonly of: Request; readonly leave: Release }[] = []
      const taken = (isOf: (of: Request) => boolean): number =>
        open.filter(({ of }) => isOf(of)).length
      let waiting = 0
      const enter = async (of: Request): Promise<void> => {
        waiting++
        const leave = await semaphore.enter(of)
        waiting--
        if (leave !== null) open.push({ of, leave })
        expect(open.length).toBeLessThanOrEqual(12)
        for (const lane of ['live', 'bulk'] as const) {
          const inLane = (is: (of: Request) => boolean): number =>
            taken((each) => each.lane === lane && is(each))
          expect(inLane(() => true)).toBeLessThanOrEqual(lane === 'live' ? 11 : 8)
          expect(inLane(({ account }) => account === of.account)).toBeLessThanOrEqual(
            lane === 'live' ? 10 : 7,
          )
          for (const group of GROUPS.slice(1)) {
            expect(inLane((each) => each.group === group)).toBeLessThanOrEqual(2)
          }
        }
      }
      const entered: Promise<void>[] = []
      for (const { lane, account, group, act } of steps) {
        const stop = new AbortController()
        const request = { lane, account, signal: stop.signal }
        entered.push(enter(group === undefined ? request : { ...request, group }))
        if (act === 'abort') stop.abort()
        if (act === 'release') open.shift()?.leave()
        await Promise.resolve()
      }
      for (let held = open.shift(); held !== undefined; held = open.shift()) {
        held.leave()
        await Promise.resolve()
      }
      expect(waiting).toBe(0)
      await Promise.all(entered)
    }),
  )
})
