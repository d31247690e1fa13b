import { expect, test } from 'vitest'
import { durabilityOf } from './redis-durability.ts'

const REPLY = [
  '# Memory',
  'maxmemory:0',
  'maxmemory_human:0B',
  'maxmemory_policy:volatile-lru',
  '# Persistence',
  'loading:0',
  'aof_enabled:1',
  'aof_rewrite_in_progress:0',
]

test.each([
  ['a server', REPLY, { evictionPolicy: 'volatile-lru', isAppendOnly: true }],
  [
    'one that writes no file',
    [...REPLY, 'x'].map((line) => line.replace('aof_enabled:1', 'aof_enabled:0')),
    { evictionPolicy: 'volatile-lru', isAppendOnly: false },
  ],
  [
    'one that tells neither',
    ['# Memory', 'used_memory:1'],
    { evictionPolicy: null, isAppendOnly: null },
  ],
])('the durability of %s is read from its reply', (_, lines, durability) => {
  expect(durabilityOf(`${lines.join('\r\n')}\r\n`)).toEqual(durability)
})
