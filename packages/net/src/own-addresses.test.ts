import type { NetworkInterfaceInfo } from 'node:os'
import { expect, test } from 'vitest'
import { parseAddress } from './address.ts'
import { createOwnAddresses } from './own-addresses.ts'

function interfaceOf(address: string): NetworkInterfaceInfo {
  const common = { address, netmask: '', mac: '', internal: false, cidr: null }
  return address.includes(':')
    ? { ...common, family: 'IPv6', scopeid: 0 }
    : { ...common, family: 'IPv4' }
}

/** A machine whose addresses, clock and faults the test sets. */
function machine(...addresses: string[]) {
  const state = { addresses, nowMs: 0, isBroken: false, reads: 0, errors: 0 }
  const isOwn = createOwnAddresses({
    interfaces() {
      state.reads += 1
      if (state.isBroken) throw new Error('not permitted')
      return { eth0: state.addresses.map(interfaceOf), gone: undefined }
    },
    now: () => state.nowMs,
    onError: () => (state.errors += 1),
  })
  const has = (text: string): boolean | null => {
    const address = parseAddress(text)
    return address && isOwn(address)
  }
  return { state, has }
}

test('the addresses of all interfaces are own, however they are written', () => {
  const { has } = machine('5.6.7.8', '2A00:1::0:1', 'fe80::1%eth0')
  expect(has('5.6.7.8')).toBe(true)
  expect(has('2a00:1::1')).toBe(true)
  expect(has('5.6.7.9')).toBe(false)
  expect(has('2a00:1::2')).toBe(false)
})

test('interfaces are read at most once a minute, and a new address is known then', () => {
  const { state, has } = machine('5.6.7.8')
  for (let count = 0; count < 100; count++) has('5.6.7.8')
  state.addresses = ['5.6.7.9']
  state.nowMs = 59_999
  expect(has('5.6.7.9')).toBe(false)
  expect(state.reads).toBe(1)
  state.nowMs = 60_000
  expect(has('5.6.7.9')).toBe(true)
  expect(has('5.6.7.8')).toBe(false)
  expect(state.reads).toBe(2)
})

test('while the interfaces cannot be read, the addresses of the last time count', () => {
  const { state, has } = machine('5.6.7.8')
  expect(has('5.6.7.8')).toBe(true)
  Object.assign(state, { isBroken: true, nowMs: 60_000 })
  expect(has('5.6.7.8')).toBe(true)
  expect(has('5.6.7.8')).toBe(true)
  expect(state).toMatchObject({ reads: 2, errors: 1 })
})

test('the interfaces of this machine are read by default', () => {
  const loopback = parseAddress('127.0.0.1')
  expect(loopback && createOwnAddresses()(loopback)).toBe(true)
})
