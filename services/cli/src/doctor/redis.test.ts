import { expect, test } from 'vitest'
import { redisFindings } from './redis.ts'

const GOOD = { evictionPolicy: 'noeviction', isAppendOnly: true }

test.each([
  ['as it should be', [GOOD], ['ok: noeviction', 'ok: append-only']],
  [
    'that removes jobs',
    [{ ...GOOD, evictionPolicy: 'allkeys-lru' }],
    ['failed: allkeys-lru: once its memory is full, jobs are removed', 'ok: append-only'],
  ],
  [
    'as many managed ones are',
    [{ evictionPolicy: 'volatile-lru', isAppendOnly: false }],
    [
      'degraded: volatile-lru: once its memory is full, cached facts and locks are removed',
      'degraded: not append-only: a restart loses jobs and cached facts, and calls under way',
    ],
  ],
  [
    'cluster with one node that differs',
    [GOOD, { evictionPolicy: 'allkeys-lfu', isAppendOnly: false }, GOOD],
    [
      'failed: allkeys-lfu: once its memory is full, jobs are removed',
      'degraded: not append-only: a restart loses jobs and cached facts, and calls under way',
    ],
  ],
  [
    'that does not tell',
    [{ evictionPolicy: null, isAppendOnly: null }],
    ['off: not known: the server does not tell it', 'off: not known: the server does not tell it'],
  ],
])('the doctor reports a Redis %s', (_, nodes, told) => {
  const findings = redisFindings(nodes)
  expect(findings.map(({ status, detail }) => `${status}: ${detail}`)).toEqual(told)
  expect(findings.map(({ advice }) => advice !== null)).toEqual(
    findings.map(({ status }) => status !== 'ok'),
  )
})
