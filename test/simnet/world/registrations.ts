import { at } from '../random.ts'
import { postfix } from '../smtp/profile.ts'
import type { Builder } from './builder.ts'

/** Ages in days just below, at and above those at which the score changes. */
const AGES = [
  0, 1, 3, 6, 7, 8, 20, 29, 30, 31, 60, 89, 90, 91, 200, 364, 365, 366, 1000, 5000, 9000,
]

/**
 * Name servers of parking services, as in the packaged lists, with the addresses in their replies.
 */
const PARKING_NS = [
  ['ns1.bodis.com', 'ns2.bodis.com'],
  ['ns1.sedoparking.com', 'ns2.sedoparking.com'],
  ['ns1.parkingcrew.net', 'ns2.parkingcrew.net'],
  ['ns1.above.com', 'ns2.above.com'],
] as const

/** Adds names that are newly or long registered, on hold, expiring, free, parked, or without delegation. */
export function addRegistrations(builder: Builder): void {
  for (const zone of ['com', 'org', 'co.uk', 'it', 'io']) {
    for (const ageDays of AGES) addPlain(builder, zone, `age-${ageDays}`, ageDays)
  }
  for (const status of ['client hold', 'server hold', 'pending delete', 'redemption period']) {
    for (let i = 0; i < 2; i++) {
      const name = builder.company(i === 0 ? 'com' : 'org')
      builder.add({
        name,
        kind: `status:${status.replace(' ', '-')}`,
        mail: { kind: 'none' },
        undelegated: true,
        registration: builder.registration(name, 900, [status]),
      })
    }
  }
  for (let i = 0; i < 12; i++) addParked(builder, i)
  for (const zone of [
    'com',
    'org',
    'net',
    'info',
    'co.uk',
    'fr',
    'de',
    'it',
    'jp',
    'ru',
    'eu',
    'se',
    'pl',
    'io',
  ]) {
    const name = builder.company(zone)
    builder.add({
      name,
      kind: 'unregistered',
      mail: { kind: 'none' },
      undelegated: true,
      registration: null,
    })
  }
  for (let i = 0; i < 5; i++) {
    builder.add({
      name: builder.company('com'),
      kind: 'registered-undelegated',
      mail: { kind: 'none' },
      undelegated: true,
    })
  }
  for (let i = 0; i < 4; i++) {
    const kind = i % 2 === 0 ? 'half-lame' : 'lame'
    builder.add({
      name: builder.company('com'),
      kind,
      mail: { kind: 'none' },
      nameServers: [i % 2 === 0 ? 'ns1.simdns.net' : 'lame1.simdns.net', 'lame2.simdns.net'],
      // If no name server of a domain replies, a resolver returns SERVFAIL.
      ...(kind === 'lame' ? { dnsFault: 'servfail' } : {}),
    })
  }
}

function addPlain(builder: Builder, zone: string, kind: string, ageDays: number): void {
  const name = builder.company(zone)
  const host = builder.host('mx.young-and-old-sim.net', postfix('mx.young-and-old-sim.net'))
  builder.add({
    name,
    kind,
    mail: { kind: 'mx', exchanges: [{ preference: 10, host: host.name }] },
    registration: builder.registration(name, ageDays),
    ...(ageDays < 30 ? { dmarc: [] } : {}),
  })
}

/** Adds a parked name: by name servers, by wildcard, or both; none accepts mail. */
function addParked(builder: Builder, index: number): void {
  const name = builder.company(at(['com', 'net', 'org'], index))
  builder.add({
    name,
    kind: 'parked',
    mail: { kind: 'none' },
    nameServers: at(PARKING_NS, index),
    // Bodis' range, as in packaged lists of parking addresses (2026-11); no test connects to it.
    address: `199.59.243.${220 + (index % 8)}`,
    wildcard: index % 4 !== 3,
    parked: true,
    spf: [],
    dmarc: [],
  })
}
