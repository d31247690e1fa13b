import fc from 'fast-check'
import { expect, test } from 'vitest'
import { AGAIN, openLanes, type LaneOptions } from './group-commit.ts'

/** Lanes whose groups end when the test says so. */
function controlled(options: Partial<LaneOptions<string, string>> = {}) {
  const groups: { asks: readonly string[]; end: () => void; fail: (cause: Error) => void }[] = []
  const lanes = openLanes<string, string>({
    limit: 4,
    flights: 2,
    laneOf: (ask) => ask.charAt(0),
    run: (asks) =>
      new Promise((settle, fail) => {
        groups.push({ asks, end: () => settle(asks.map((ask) => `${ask}!`)), fail })
      }),
    ...options,
  })
  return { lanes, groups }
}

/** Lets every microtask that is due run. */
async function turn(): Promise<void> {
  await new Promise((next) => setImmediate(next))
}

test('asks of one turn travel together, those that come later in the next group', async () => {
  const { lanes, groups } = controlled()
  const early = [lanes.ask('a1'), lanes.ask('b1')]
  await turn()
  const late = [lanes.ask('a2'), lanes.ask('a3')]
  await turn()
  expect(groups.map((group) => group.asks)).toEqual([['a1', 'b1']])
  groups[0]?.end()
  expect(await Promise.all(early)).toEqual(['a1!', 'b1!'])
  await turn()
  expect(groups[1]?.asks).toEqual(['a2', 'a3'])
  groups[1]?.end()
  expect(await Promise.all(late)).toEqual(['a2!', 'a3!'])
})

test('a lane under way does not keep another waiting', async () => {
  const { lanes, groups } = controlled()
  void lanes.ask('a1')
  await turn()
  void lanes.ask('a2')
  void lanes.ask('b1')
  await turn()
  expect(groups.map((group) => group.asks)).toEqual([['a1'], ['b1']])
})

test('a group holds no more than its limit', async () => {
  const { lanes, groups } = controlled({ flights: 1 })
  for (const n of [1, 2, 3, 4, 5, 6]) void lanes.ask(`a${n}`)
  await turn()
  groups[0]?.end()
  await turn()
  expect(groups.map((group) => group.asks)).toEqual([
    ['a1', 'a2', 'a3', 'a4'],
    ['a5', 'a6'],
  ])
})

test('an ask that must travel again goes before those that came after it', async () => {
  const seen: (readonly string[])[] = []
  const { lanes } = controlled({
    limit: 2,
    flights: 1,
    run: async (asks) => {
      seen.push(asks)
      return asks.map((ask, n) => (seen.length === 1 && n === 1 ? AGAIN : ask))
    },
  })
  await Promise.all(['a1', 'a2', 'a3'].map((ask) => lanes.ask(ask)))
  expect(seen).toEqual([
    ['a1', 'a2'],
    ['a2', 'a3'],
  ])
})

test('one that cannot be carried out fails alone', async () => {
  const { lanes } = controlled({
    run: async (asks) => {
      if (asks.includes('bad')) throw new Error('no such account')
      return asks
    },
  })
  const ends = await Promise.allSettled(['a', 'bad', 'c'].map((ask) => lanes.ask(ask)))
  expect(ends.map((end) => end.status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
})

test('a broken connection fails the whole group at once', async () => {
  let runs = 0
  const { lanes } = controlled({
    run: async () => {
      runs += 1
      throw Object.assign(new Error('gone'), { code: 'ECONNREFUSED' })
    },
  })
  const ends = await Promise.allSettled(['a', 'b', 'c'].map((ask) => lanes.ask(ask)))
  expect(ends.every((end) => end.status === 'rejected')).toBe(true)
  expect(runs).toBe(1)
})

test('disposing waits for what is under way and refuses what comes after', async () => {
  const { lanes, groups } = controlled({ flights: 1 })
  const first = lanes.ask('a1')
  await turn()
  const second = lanes.ask('a2')
  const closed = lanes[Symbol.asyncDispose]()
  await expect(lanes.ask('a3')).rejects.toThrow(/closed/)
  groups[0]?.end()
  await turn()
  groups[1]?.end()
  await closed
  expect(await Promise.all([first, second])).toEqual(['a1!', 'a2!'])
})

test('every ask is answered once, in order within its lane, whatever the interleaving', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 30 }),
      async (scheduler, drawn) => {
        const carried: string[] = []
        const under = new Set<string>()
        const { lanes } = controlled({
          run: async (asks) => {
            const mine = new Set(asks.map((ask) => ask.charAt(0)))
            for (const lane of mine) expect(under.has(lane)).toBe(false)
            for (const lane of mine) under.add(lane)
            await scheduler.schedule(Promise.resolve(), asks.join())
            carried.push(...asks)
            for (const lane of mine) under.delete(lane)
            return asks
          },
        })
        const asks = drawn.map((lane, n) => `${lane}${n}`)
        const answers = asks.map((ask) => lanes.ask(ask))
        await scheduler.waitFor(Promise.all(answers))
        expect(await Promise.all(answers)).toEqual(asks)
        for (const lane of ['a', 'b', 'c']) {
          const of = (list: readonly string[]) => list.filter((ask) => ask.startsWith(lane))
          expect(of(carried)).toEqual(of(asks))
        }
      },
    ),
    { numRuns: 200 },
  )
})

test('asks that nobody waits for rest for company, and closing cuts the rest short', async () => {
  const { lanes, groups } = controlled({ flights: 1, restMs: 60_000 })
  const first = lanes.ask('a1')
  await turn()
  groups[0]?.end()
  expect(await first).toBe('a1!')
  const late = [lanes.ask('a2'), lanes.ask('b1')]
  await turn()
  expect(groups).toHaveLength(1)
  const closed = lanes[Symbol.asyncDispose]()
  await turn()
  expect(groups[1]?.asks).toEqual(['a2', 'b1'])
  groups[1]?.end()
  expect(await Promise.all(late)).toEqual(['a2!', 'b1!'])
  await closed
})
