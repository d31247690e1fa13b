import { expect, test } from 'vitest'
import { makeContacts } from './contacts.ts'
import { makeWorld } from './world.ts'
import { mailboxState } from './world/mailbox.ts'

const nowMs = Date.UTC(2026, 10, 21, 12)

test('the same seed gives the same world, another seed another one', () => {
  const world = makeWorld({ seed: 3, nowMs })
  expect([...makeWorld({ seed: 3, nowMs }).domains]).toEqual([...world.domains])
  expect([...makeWorld({ seed: 4, nowMs }).domains.keys()]).not.toEqual([...world.domains.keys()])
  expect(world.domains.size).toBeGreaterThan(400)
})

test('mail hosts and services have addresses of their own, all in 127.0.0.0/8', () => {
  const world = makeWorld({ seed: 3, nowMs, bulkDomains: { count: 50_000 } })
  const addresses = [
    ...[...world.hosts.values()].map(({ address }) => address),
    ...world.services.values(),
    ...(world.bulk?.hosts ?? []).map(({ address }) => address),
  ]
  expect(new Set(addresses).size).toBe(addresses.length)
  for (const address of addresses) expect(address).toMatch(/^127\.[0-9]+\.[0-9]+\.[0-9]+$/)
})

test('a mailbox is a pure function of seed and address, whatever its case, tag or Gmail dots', () => {
  expect(mailboxState(1, 'Ada.Flintmoor+x', 'a.example')).toBe(
    mailboxState(1, 'ada.flintmoor', 'a.example'),
  )
  expect(mailboxState(1, 'a.d.a.flintmoor', 'gmail.com', true)).toBe(
    mailboxState(1, 'adaflintmoor', 'gmail.com', true),
  )
  const states = Array.from({ length: 2000 }, (_, i) => mailboxState(1, `user${i}`, 'a.example'))
  const share = (state: string): number =>
    states.filter((found) => found === state).length / states.length
  expect(share('exists')).toBeCloseTo(0.74, 1)
  expect(share('missing')).toBeCloseTo(0.2, 1)
  for (let i = 0; i < 2000; i++) {
    const invented = `${(i * 7_919_113).toString(36)}${(i * 104_729_017).toString(36)}`
    expect(mailboxState(1, invented, 'a.example')).toBe('missing')
  }
})

test('every kind of domain has an expected result', () => {
  const world = makeWorld({ seed: 3, nowMs })
  const kinds = new Map([...world.domains.values()].map((domain) => [domain.kind, domain.name]))
  const reason = (kind: string): string | undefined =>
    world.expectEmail(`ada@${kinds.get(kind)}`).reason
  expect(reason('null-mx')).toBe('null_mx')
  expect(reason('no-mail')).toBe('no_mail_host')
  expect(reason('unregistered')).toBe('no_domain')
  expect(reason('all-mx-dead')).toBe('connect_failed')
  expect(reason('blocked-rcpt')).toBe('blocked')
  expect(reason('accept-all')).toBe('accept_all')
  expect(reason('yahoo')).toBe('accept_means_nothing')
  expect(reason('dns:servfail')).toBe('dns_failed')
  expect(reason('dns:mx-private')).toBe('unsafe_host')
  expect(world.expectEmail('ada@gmial.com').reason).toBe('no_domain')
  expect(world.expectEmail('ada@@gmail.com').reason).toBe('invalid_syntax')
  const hostile = [...kinds].filter(([kind]) => kind.startsWith('hostile:'))
  expect(new Set(hostile.map(([, name]) => world.expectEmail(`ada@${name}`).status))).toEqual(
    new Set(['unknown']),
  )
})

test('ages are counted by the UTC day from the present of the world', () => {
  const world = makeWorld({ seed: 3, nowMs })
  const aged = [...world.domains.values()].filter(({ kind }) => kind.startsWith('age-'))
  expect(aged.map(({ name }) => world.expectDomain(name).ageDays)).toEqual(
    aged.map(({ kind }) => Number(kind.slice('age-'.length))),
  )
})

test('contacts are the same for the same seed, mixed in kind, and as wide as their header', () => {
  const { header, rows } = makeContacts({ seed: 1, count: 2000 })
  expect(makeContacts({ seed: 1, count: 2000 }).rows).toEqual(rows)
  expect(rows).toHaveLength(2000)
  for (const row of rows) expect(row).toHaveLength(header.length)
  const world = makeWorld({ seed: 1, nowMs })
  const reasons = new Set(rows.map((row) => world.expectEmail((row[2] ?? '').trim()).reason))
  for (const expected of [
    'accepted',
    'mailbox_not_found',
    'invalid_syntax',
    'no_domain',
    'accept_all',
    'blocked',
  ]) {
    expect(reasons).toContain(expected)
  }
})
