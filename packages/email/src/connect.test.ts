import { createEgress } from '@plumbline/net/egress'
import { expect, test } from 'vitest'
import { createConnector, faultReason } from './connect.ts'
import { fakeResolver } from './smtp-fixture.ts'
import { DEFAULT_TIMES } from './smtp-session.ts'

test('a host without a free place is tried again after the longest wait of its addresses', async () => {
  const { signal } = new AbortController()
  const connect = createConnector({
    egress: createEgress({ allow: ['127.0.0.0/8'] }),
    resolver: fakeResolver({ 'mx.a.test A': ['127.0.0.1', '127.0.0.2'] }),
    port: 1,
    heloName: 'verifier.sender.test',
    times: DEFAULT_TIMES,
    proxy: null,
    signal,
    now: () => 0,
  })
  const route = { kind: 'hosts', hosts: ['mx.a.test'], implicit: false, exchanges: [] } as const
  const waits: Record<string, number> = { '127.0.0.1': 700, '127.0.0.2': 300 }
  const result = await connect(route, 'other', undefined, {
    signal,
    heard: () => undefined,
    placeAt: async (address) => ({ granted: false, afterMs: waits[address] ?? 0 }),
  })
  expect(result).toEqual({ kind: 'full', addresses: ['127.0.0.1', '127.0.0.2'], afterMs: 700 })
})

test.each([
  ['timeout', 'timeout'],
  ['aborted', 'timeout'],
  ['closed', 'protocol_error'],
  ['malformed', 'protocol_error'],
  ['too_long', 'protocol_error'],
  ['unsolicited', 'protocol_error'],
  ['unreachable', 'protocol_error'],
] as const)('a session that ended with %s has the reason %s', (fault, reason) => {
  expect(faultReason(fault)).toBe(reason)
})
