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
