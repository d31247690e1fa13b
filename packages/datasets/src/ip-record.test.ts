import { expect, test } from 'vitest'
import { readRecord } from './ip-record.ts'

const EMPTY = readRecord({})

test('a record without content has null in every field', () => {
  expect(new Set(Object.values(EMPTY))).toEqual(new Set([null]))
  expect(readRecord('text')).toEqual(EMPTY)
})

test('records in the nested shape of MaxMind and DB-IP are read', () => {
  const record = readRecord({
    country: { iso_code: 'GB', names: { en: 'United Kingdom' } },
    registered_country: { iso_code: 'US', names: { en: 'United States' } },
    subdivisions: [
      { iso_code: 'ENG', names: { en: 'England' } },
      { iso_code: 'WBK', names: { en: 'West Berkshire' } },
    ],
    city: { names: { en: 'Boxford' } },
    location: { latitude: 51.75, longitude: -1.25, time_zone: 'Europe/London' },
    traits: { isp: 'Example', autonomous_system_number: 64_500, user_type: 'hosting' },
  })
  expect(record).toEqual({
    country: 'United Kingdom',
    countryCode: 'GB',
    region: 'England',
    city: 'Boxford',
    latitude: 51.75,
    longitude: -1.25,
    timezone: 'Europe/London',
    isp: 'Example',
    asn: 64_500,
    isVpn: null,
    isProxy: null,
    isTor: null,
    isDatacenter: true,
  })
})

test('records in the flat shape of ip-location-db are read, empty texts as missing', () => {
  const flat = {
    country_code: 'US',
    city: 'Mountain View',
    state1: 'California',
    state2: '',
    latitude: 37.422000885009766,
    longitude: -122.08499908447266,
    timezone: '',
  }
  expect(readRecord(flat)).toEqual({
    ...EMPTY,
    countryCode: 'US',
    city: 'Mountain View',
    region: 'California',
    latitude: 37.422,
    longitude: -122.085,
  })
})

test('both shapes of IPinfo are distinguished by the country field', () => {
  const lite = { country: 'Germany', country_code: 'DE', asn: 'AS24940', as_name: 'Hetzner' }
  const old = { country: 'DE', country_name: 'Germany', asn: 'AS24940', as_name: 'Hetzner' }
  const read = { ...EMPTY, country: 'Germany', countryCode: 'DE', asn: 24_940, isp: 'Hetzner' }
  expect(readRecord(lite)).toEqual(read)
  expect(readRecord(old)).toEqual(read)
})

test('an anonymity record sets its flags and clears the others', () => {
  const record = readRecord({ is_anonymous: true, is_anonymous_vpn: true })
  expect(record).toMatchObject({ isVpn: true, isProxy: false, isTor: false, isDatacenter: false })
})

test('a flag of a database of places says nothing about the others', () => {
  const none = { isVpn: null, isProxy: null, isTor: null, isDatacenter: null }
  expect(readRecord({ traits: { user_type: 'hosting' } })).toMatchObject({
    ...none,
    isDatacenter: true,
  })
  expect(readRecord({ traits: { is_anonymous_proxy: true } })).toMatchObject({
    ...none,
    isProxy: true,
  })
})

test('invalid coordinates are left out', () => {
  expect(readRecord({ latitude: 91, longitude: 400 })).toEqual(EMPTY)
})
