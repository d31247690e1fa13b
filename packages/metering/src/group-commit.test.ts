import fc from 'fast-check'
import { expect, test } from 'vitest'
import { RETRY, openGroupCommit, type GroupCommitOptions } from './group-commit.ts'

/** A group commit whose batches end when the test says so. */
function controlled(options: Partial<GroupCommitOptions<string, string>> = {}) {
  const batches: { requests: readonly string[]; end: () => void; fail: (cause: Error) => void }[] =
    []
  const commits = openGroupCommit<string, string>({
    maxItems: 4,
    maxRuns: 2,
    orderKeyOf: (request) => request.charAt(0),
    run: (requests) =>
      new Promise((settle, fail) => {
        batches.push({
          requests,
          end: () => settle(requests.map((request) => `${request}!`)),
          fail,
        })
      }),
    ...options,
  })
  return { commits, batches }
}

/** Runs all pending microtasks. */
async function turn(): Promise<void> {
  await new Promise((next) => setImmediate(next))
}

test('requests of one turn share a batch, later ones are in the next', async () => {
  const { commits, batches } = controlled()
  const early = [commits.submit('a1'), commits.submit('b1')]
  await turn()
  const late = [commits.submit('a2'), commits.submit('a3')]
  await turn()
  expect(batches.map((batch) => batch.requests)).toEqual([['a1', 'b1']])
  batches[0]?.end()
  expect(await Promise.all(early)).toEqual(['a1!', 'b1!'])
  await turn()
  expect(batches[1]?.requests).toEqual(['a2', 'a3'])
  batches[1]?.end()
  expect(await Promise.all(late)).toEqual(['a2!', 'a3!'])
})

test('a key in flight does not delay another', async () => {
  const { commits, batches } = controlled()
  void commits.submit('a1')
  await turn()
  void commits.submit('a2')
  void commits.submit('b1')
  await turn()
  expect(batches.map((batch) => batch.requests)).toEqual([['a1'], ['b1']])
})

test('a batch has at most the maximum number of requests', async () => {
  const { commits, batches } = controlled({ maxRuns: 1 })
  for (const n of [1, 2, 3, 4, 5, 6]) void commits.submit(`a${n}`)
  await turn()
  batches[0]?.end()
  await turn()
  expect(batches.map((batch) => batch.requests)).toEqual([
    ['a1', 'a2', 'a3', 'a4'],
    ['a5', 'a6'],
  ])
})

test('a request that must be run again goes before later ones', async () => {
  const seen: (readonly string[])[] = []
  const { commits } = controlled({
    maxItems: 2,
    maxRuns: 1,
    run: async (requests) => {
      seen.push(requests)
      return requests.map((request, n) => (seen.length === 1 && n === 1 ? RETRY : request))
    },
  })
  await Promise.all(['a1', 'a2', 'a3'].map((request) => commits.submit(request)))
  expect(seen).toEqual([
    ['a1', 'a2'],
    ['a2', 'a3'],
  ])
})

test('an invalid request fails alone', async () => {
  const { commits } = controlled({
    run: async (requests) => {
      if (requests.includes('bad')) throw new Error('no such account')
      return requests
    },
  })
  const ends = await Promise.allSettled(['a', 'bad', 'c'].map((request) => commits.submit(request)))
  expect(ends.map((end) => end.status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
})

test('a broken connection fails the whole batch at once', async () => {
  let runs = 0
  const { commits } = controlled({
    run: async () => {
      runs += 1
      throw Object.assign(new Error('gone'), { code: 'ECONNREFUSED' })
    },
  })
  const ends = await Promise.allSettled(['a', 'b', 'c'].map((request) => commits.submit(request)))
  expect(ends.every((end) => end.status === 'rejected')).toBe(true)
  expect(runs).toBe(1)
})

test('after a large batch its keys pause, others do not; after a small one none', async () => {
  const { commits, batches } = controlled({ pauseMs: 60_000, pauseFrom: 3 })
  for (const n of [1, 2, 3]) void commits.submit(`a${n}`)
  await turn()
  batches[0]?.end()
  await turn()
  const last = commits.submit('a4')
  void commits.submit('b1')
  await turn()
  batches[1]?.end()
  await turn()
  void commits.submit('b2')
  await turn()
  expect(batches.map((batch) => batch.requests)).toEqual([['a1', 'a2', 'a3'], ['b1'], ['b2']])
  batches[2]?.end()
  const closed = commits[Symbol.asyncDispose]()
  await turn()
  expect(batches[3]?.requests).toEqual(['a4'])
  batches[3]?.end()
  await closed
  expect(await last).toBe('a4!')
})

test('disposing waits for requests under way and refuses later ones', async () => {
  const { commits, batches } = controlled({ maxRuns: 1 })
  const first = commits.submit('a1')
  await turn()
  const second = commits.submit('a2')
  const closed = commits[Symbol.asyncDispose]()
  await expect(commits.submit('a3')).rejects.toThrow(/closed/)
  batches[0]?.end()
  await turn()
  batches[1]?.end()
  await closed
  expect(await Promise.all([first, second])).toEqual(['a1!', 'a2!'])
})

test('every request is answered once, in order within its key, whatever the interleaving', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 30 }),
      async (scheduler, drawn) => {
        const carried: string[] = []
        const under = new Set<string>()
        const { commits } = controlled({
          run: async (requests) => {
            const mine = new Set(requests.map((request) => request.charAt(0)))
            for (const key of mine) expect(under.has(key)).toBe(false)
            for (const key of mine) under.add(key)
            await scheduler.schedule(Promise.resolve(), requests.join())
            carried.push(...requests)
            for (const key of mine) under.delete(key)
            return requests
          },
        })
        const requests = drawn.map((key, n) => `${key}${n}`)
        const answers = requests.map((request) => commits.submit(request))
        await scheduler.waitFor(Promise.all(answers))
        expect(await Promise.all(answers)).toEqual(requests)
        for (const key of ['a', 'b', 'c']) {
          const of = (list: readonly string[]) => list.filter((request) => request.startsWith(key))
          expect(of(carried)).toEqual(of(requests))
        }
      },
    ),
    { numRuns: 200 },
  )
})

test('requests without a waiting caller are collected for a while, and closing ends the wait', async () => {
  const { commits, batches } = controlled({ maxRuns: 1, pauseMs: 60_000 })
  const first = commits.submit('a1')
  await turn()
  batches[0]?.end()
  expect(await first).toBe('a1!')
  const late = [commits.submit('a2'), commits.submit('b1')]
  await turn()
  expect(batches).toHaveLength(1)
  const closed = commits[Symbol.asyncDispose]()
  await turn()
  expect(batches[1]?.requests).toEqual(['a2', 'b1'])
  batches[1]?.end()
  expect(await Promise.all(late)).toEqual(['a2!', 'b1!'])
  await closed
})
