import { expect, test } from 'vitest'
import { usedShareOf } from './redis-used-memory.ts'

const infoOf = (fields: Readonly<Record<string, string>>): string =>
  ['# Memory', ...Object.entries(fields).map(([name, value]) => `${name}:${value}`)].join('\r\n')

const USED = { used_memory: '300', used_memory_human: '300B', used_memory_peak: '900' }

test.each([
  ['of the limit', { total_system_memory: '6000', maxmemory: '400' }, 0.75],
  ['of the machine without a limit', { total_system_memory: '6000', maxmemory: '0' }, 0.05],
  ['unknown if neither is named', { maxmemory: '0', maxmemory_policy: 'noeviction' }, null],
])('the used share is %s', (_, limits, share) => {
  expect(usedShareOf(`${infoOf({ ...USED, ...limits })}\r\n`)).toBe(share)
})
