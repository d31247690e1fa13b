import { expect, test } from 'vitest'
import type { DnsAnswer } from './dns-answer.ts'
import { createAnswerCache } from './dns-cache.ts'

const DENIED: DnsAnswer = { kind: 'nxdomain', ttlSeconds: 60 }

test('a full cache evicts the least recently used entries, and only a part of them', () => {
  const names = Array.from({ length: 1_000 }, (_, no) => `name${no}`)
  for (const count of [99, 100, 500, 1_000]) {
    const cache = createAnswerCache({ size: 100, now: () => 0 })
    const put = names.slice(0, count)
    cache.put('kept', DENIED)
    for (const name of put) {
      cache.put(name, DENIED)
      expect(cache.get('kept')).toBeDefined()
    }
    const held = put.filter((name) => cache.get(name) !== undefined)
    expect(held).toEqual(put.slice(-held.length))
    expect(held.length).toBeLessThan(100)
    expect(held.length).toBeGreaterThan(90)
  }
})

/** An answer that uses nearly 32 KiB, or the double. */
function largeAnswer(of: 1 | 2): DnsAnswer {
  const records = Array.from({ length: of * 50 }, () => 'x'.repeat(250))
  return { kind: 'records', records, ttlSeconds: 86_400 }
}

test('a cache of large answers stays within its bytes, and evicts the least recently used', () => {
  const cache = createAnswerCache({ size: 50_000, now: () => 0 })
  const names = Array.from({ length: 4_000 }, (_, no) => `name${no}`)
  for (const name of names) cache.put(name, largeAnswer(1))
  const held = names.filter((name) => cache.get(name) !== undefined)
  expect(held).toEqual(names.slice(-held.length))
  // 64 MiB of 29.7 KiB each.
  expect(held.length).toBeLessThan(2_300)
  expect(held.length).toBeGreaterThan(2_000)
})

test('an answer that would use a large part is not kept, and replaces the older one', () => {
  const cache = createAnswerCache({ size: 100, now: () => 0 })
  cache.put('x', largeAnswer(1))
  expect(cache.get('x')).toBeDefined()
  cache.put('x', largeAnswer(2))
  expect(cache.get('x')).toBeUndefined()
})
