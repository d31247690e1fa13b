import { expect, test } from 'vitest'
import type { DnsFacts } from './dns-facts.ts'
import { NO_DNS, NO_MAIL } from './outcome.ts'
import { UNKNOWN } from './registration.ts'
import { domainSignals } from './risk-signals.ts'

const BROKEN = {
  resolves: true,
  delegation: { state: 'broken', nameServers: [], checks: [] },
} as const

test.each<[string, Partial<DnsFacts>, string[]]>([
  ['does not resolve', { resolves: false }, ['broken']],
  ['has a broken delegation, though its names are still cached', BROKEN, ['broken']],
  ['resolves', { resolves: true }, []],
  ['could not be queried', {}, []],
])('a registered name that %s has the signals of that', (_, facts, codes) => {
  const signals = domainSignals({
    registration: { ...UNKNOWN, registered: true, reason: 'registered' },
    ageDays: null,
    dns: { ...NO_DNS, ...facts },
    mail: NO_MAIL,
    disposable: false,
    parked: null,
    now: new Date('2026-11-21T12:00:00Z'),
  })
  expect(signals.map(({ code }) => code)).toEqual(codes)
})
