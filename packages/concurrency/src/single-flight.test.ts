import { expect, test } from 'vitest'
import { createSingleFlight } from './single-flight.ts'

const open = new AbortController().signal

test('callers of the same key share one run, others have their own', async () => {
  const flight = createSingleFlight<string>()
  let runs = 0
  const make = async (): Promise<string> => `run ${++runs}`
  const answers = await Promise.all([
    flight('a', open, make),
    flight('a', open, make),
    flight('b', open, make),
  ])
  expect(answers).toEqual(['run 1', 'run 1', 'run 2'])
})

test('a run that has ended is not shared with later callers', async () => {
  const flight = createSingleFlight<number>()
  let runs = 0
  await flight('a', open, async () => ++runs)
  await expect(flight('a', open, async () => ++runs)).resolves.toBe(2)
})

test('the result of a run whose caller gave up is computed again for the next', async () => {
  const flight = createSingleFlight<string>()
  const first = new AbortController()
  const { promise, resolve } = Promise.withResolvers<string>()
  const given = flight('a', first.signal, () => promise)
  const waiting = flight('a', open, async () => 'again')
  first.abort()
  resolve('cut short')
  await expect(given).resolves.toBe('cut short')
  await expect(waiting).resolves.toBe('again')
})

test('a result that is useful to all is shared although its own caller gave up, and another is not', async () => {
  const flight = createSingleFlight<string>((result) => result === 'nothing')
  const first = new AbortController()
  first.abort()
  const bought = flight('a', first.signal, async () => 'bought')
  await expect(flight('a', open, async () => 'again')).resolves.toBe('bought')
  await bought
  void flight('a', open, async () => 'nothing')
  await expect(flight('a', open, async () => 'again')).resolves.toBe('again')
})

test('an error rejects all who waited for the run, and the next call starts a new one', async () => {
  const flight = createSingleFlight<string>()
  const fail = (): Promise<string> => Promise.reject(new Error('broken'))
  const both = await Promise.allSettled([flight('a', open, fail), flight('a', open, fail)])
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  await expect(flight('a', open, async () => 'well')).resolves.toBe('well')
})
