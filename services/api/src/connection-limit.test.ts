import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { expect, test, vi } from 'vitest'
import { limitConnections } from './connection-limit.ts'

/** Safe because the limit uses only the address of a socket and its end. */
function from(remoteAddress: string | undefined): Socket {
  return Object.assign(new EventEmitter(), { remoteAddress }) as unknown as Socket
}

function limitOf(most: number): {
  open: (address: string | undefined) => boolean
  admit: (socket: Socket) => boolean
  onFull: ReturnType<typeof vi.fn<(address: string) => void>>
} {
  const onFull = vi.fn<(address: string) => void>()
  const isProxy = (address: string): boolean => address === '192.0.2.1'
  const { admit } = limitConnections({ most, isProxy, onFull })
  return { open: (address) => admit(from(address)), admit, onFull }
}

test('an address at its limit is refused, and others are still accepted', () => {
  const { open, onFull } = limitOf(2)
  expect([open('198.51.100.7'), open('198.51.100.7'), open('198.51.100.7')]).toEqual([
    true,
    true,
    false,
  ])
  expect(open('198.51.100.7')).toBe(false)
  expect(onFull).toHaveBeenCalledExactlyOnceWith('198.51.100.7')
  expect(open('198.51.100.8')).toBe(true)
})

test('an IPv4 address and its IPv6-mapped form share a limit', () => {
  const { open } = limitOf(1)
  expect([open('198.51.100.7'), open('::ffff:198.51.100.7')]).toEqual([true, false])
})

test('the addresses of an IPv6 /64 share a limit', () => {
  const { open } = limitOf(1)
  expect([open('2001:db8:1:2::1'), open('2001:db8:1:2:ffff::9')]).toEqual([true, false])
  expect(open('2001:db8:1:3::1')).toBe(true)
})

test('a closed connection no longer counts', () => {
  const { admit, onFull } = limitOf(1)
  const first = from('198.51.100.7')
  expect([admit(first), admit(from('198.51.100.7'))]).toEqual([true, false])
  first.emit('close')
  expect([admit(from('198.51.100.7')), admit(from('198.51.100.7'))]).toEqual([true, false])
  expect(onFull).toHaveBeenCalledTimes(2)
})

test('closing a refused connection does not change the count', () => {
  const { admit } = limitOf(1)
  const refused = from('198.51.100.7')
  expect([admit(from('198.51.100.7')), admit(refused)]).toEqual([true, false])
  refused.emit('close')
  expect(admit(from('198.51.100.7'))).toBe(false)
})

test('proxies that are trusted are exempt', () => {
  const { open } = limitOf(1)
  expect([open('192.0.2.1'), open('192.0.2.1'), open('192.0.2.1')]).toEqual([true, true, true])
})

test('a connection that closed before it was checked is not admitted', () => {
  expect(limitOf(1).open(undefined)).toBe(false)
})
