import { expect, test } from 'vitest'
import { parseRdap, rdapInstant } from './rdap-parse.ts'

const registrar = (entity: object): object => ({
  objectClassName: 'entity',
  roles: ['registrar'],
  ...entity,
})

test('the registrar is found in every form in which servers write it', () => {
  const shapes = [
    {
      vcardArray: [
        'vcard',
        [
          ['version', {}, 'text', '4.0'],
          ['fn', {}, 'text', 'Acme'],
        ],
      ],
    },
    {
      vcardArray: [
        'vcard',
        [
          ['fn', {}, 'text', ''],
          ['org', {}, 'text', 'Acme'],
        ],
      ],
    },
    {
      vcardArray: [
        'vcard',
        [
          ['fn', {}, 'text', 'REDACTED FOR PRIVACY'],
          ['org', {}, 'text', ['Acme']],
        ],
      ],
    },
    { jscard_0: { name: { full: 'Acme' } } },
    { jscard: { organizations: { a: { name: 'Acme' } } } },
    { handle: 'Acme' },
  ]
  for (const shape of shapes) {
    expect(parseRdap({ objectClassName: 'domain', entities: [registrar(shape)] }).registrar).toBe(
      'Acme',
    )
  }
  const nested = { entities: [{ roles: ['technical'], entities: [registrar({ handle: 'Acme' })] }] }
  expect(parseRdap(nested).registrar).toBe('Acme')
})

test('events, statuses and name servers are normalized', () => {
  const record = parseRdap({
    objectClassName: 'domain',
    ldhName: 'X.Test.',
    status: ['clientTransferProhibited', 'pending delete', 'server-hold', 7],
    events: [
      { eventAction: 'last changed', eventDate: '2020-01-01T00:00:00Z' },
      { eventAction: 'Registration', eventDate: '1999-12-31T23:30:00-05:00' },
      { eventAction: 'expiration' },
      { eventAction: 'expiration', eventDate: '2030-01-01T00:00:00Z' },
    ],
    nameservers: [{ ldhName: 'NS2.X.test.' }, { ldhName: 'ns1.x.test' }, null],
  })
  expect(record).toEqual({
    name: 'x.test',
    created: '1999-12-31T23:30:00-05:00',
    expires: '2030-01-01T00:00:00Z',
    registrar: null,
    nameservers: ['ns1.x.test', 'ns2.x.test'],
    statuses: ['client transfer prohibited', 'pending delete', 'server hold'],
  })
})

test('a registrar, and 20 statuses at most, are cut to 200 characters', () => {
  const long = 'aB'.repeat(100_000)
  const { registrar: name, statuses } = parseRdap({
    objectClassName: 'domain',
    status: Array.from({ length: 100 }, () => long),
    entities: [registrar({ jscard: { name: { full: long } } })],
  })
  expect(name).toBe('aB'.repeat(100))
  expect(statuses).toEqual(Array.from({ length: 20 }, () => `a${' ba'.repeat(67)}`.slice(0, 200)))
})

test.each([
  ['1999-12-31T23:30:00-05:00', '2000-01-01T04:30:00Z'],
  ['1997-01-01T00:00:00.000Z', '1997-01-01T00:00:00Z'],
  ['1997-06-03', '1997-06-03T00:00:00Z'],
  ['2011-05-06 07:08:09', '2011-05-06T07:08:09Z'],
  ['294247-01-10T04:00:54.775Z', null],
  ['9999-12-31T23:59:59Z', '9999-12-31T23:59:59Z'],
  ['9999-12-31T23:59:59-05:00', null],
  ['0001-01-01T00:00:00Z', null],
  ['1970-01-01T00:00:00Z', null],
  ['soon', null],
])('the date %s is %s', (text, instant) => {
  expect(rdapInstant(text)).toBe(instant)
})

test.each([null, 7, 'x', [], [[]], { entities: 7, events: 'x', status: {}, nameservers: [[[]]] }])(
  'a body that is no domain object gives no facts: %j',
  (body) => {
    expect(parseRdap(body)).toMatchObject({ name: null, created: null, registrar: null })
  },
)
