import { expect, test } from 'vitest'
import { FAILOVER_MS, isTemporary, retryStatement } from './retry.ts'

/** Messages of pg and its pool about a broken connection; none of them has a code. */
const SAID = [
  'Connection terminated',
  'Connection terminated unexpectedly',
  'Connection terminated due to connection timeout',
  'timeout exceeded when trying to connect',
  'Query read timeout',
  'Client has encountered a connection error and is not queryable',
  'Client was closed and is not queryable',
]

test.each(SAID)('"%s" is temporary', (message) => {
  expect(isTemporary(new Error(message))).toBe(true)
})

test.each([
  ['the end of a session whose process stood still within a transaction', '25P03'],
  ['a write to a server that is a standby', '25006'],
])('%s is temporary', (message, code) => {
  expect(isTemporary(Object.assign(new Error(message), { code }))).toBe(true)
})

test.each(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'])(
  'a server that cannot be reached is temporary: %s',
  (code) => {
    expect(isTemporary(Object.assign(new Error('connect'), { code }))).toBe(true)
  },
)

test('a fault in our code is not temporary, and is not retried', async () => {
  const fault = new Error('the email engine left 3 subjects unanswered')
  expect(isTemporary(fault)).toBe(false)
  let runs = 0
  const run = async (): Promise<void> => {
    runs += 1
    throw fault
  }
  await expect(retryStatement(run)).rejects.toBe(fault)
  expect(runs).toBe(1)
})

/** A server that is down for a time; returns how often it was queried. */
async function askThrough(
  awayMs: number,
  forMs?: number,
): Promise<{ answer: string; asked: number }> {
  let nowMs = 0
  let asked = 0
  const clock = { nowMs: () => nowMs, wait: async (ms: number) => void (nowMs += ms) }
  const run = async (): Promise<string> => {
    asked += 1
    if (nowMs < awayMs) throw new Error('Connection terminated unexpectedly')
    return 'stored'
  }
  const tried = retryStatement(run, forMs === undefined ? { clock } : { clock, forMs })
  return { answer: await tried.catch((error: Error) => error.message), asked }
}

test('a statement that must survive a failover is retried once a second', async () => {
  const { answer, asked } = await askThrough(30_000, FAILOVER_MS)
  expect(answer).toBe('stored')
  expect(asked).toBeLessThan(40)
})

test('other statements are given up after a second and a half, and none is retried for ever', async () => {
  expect(await askThrough(30_000)).toEqual({
    answer: 'Connection terminated unexpectedly',
    asked: 5,
  })
  expect((await askThrough(Infinity, FAILOVER_MS)).answer).toMatch('Connection terminated')
})
