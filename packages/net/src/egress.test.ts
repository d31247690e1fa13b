import type { Socket as DatagramSocket } from 'node:dgram'
import { connect, createServer, Socket } from 'node:net'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { formatAddress } from './address.ts'
import type { IpAddress } from './address.ts'
import { DialError, createEgress, secure } from './egress.ts'
import type { Target } from './egress.ts'
import { SPECIAL_BLOCKS } from './special-addresses.ts'

const NEVER = new AbortController().signal

function countingEgress() {
  const counted = { attempts: 0 }
  const count = (): never => {
    counted.attempts++
    throw new Error('the dialler was reached')
  }
  const connect = {
    tcp: count as () => Socket,
    udp: count as () => DatagramSocket,
  }
  return { counted, egress: createEgress({ allow: [], connect }) }
}

/** The notations of one address that common parsers accept. */
function spellings(address: IpAddress): string[] {
  const text = formatAddress(address)
  if (address.version === 6) {
    const full = address.value.toString(16).padStart(32, '0').match(/.{4}/g)?.join(':') ?? ''
    return [text, text.toUpperCase(), full, `${text}%lo`, `[${text}]`]
  }
  const value = Number(address.value)
  const hex = value.toString(16).padStart(8, '0')
  const [high, low] = [hex.slice(0, 4), hex.slice(4)]
  return [
    text,
    `::ffff:${text}`,
    `::FFFF:${high}:${low}`,
    `64:ff9b::${text}`,
    `2002:${high}:${low}::1`,
    `::${text}`,
    `2001::${(~value >>> 0).toString(16).padStart(8, '0').replace(/^.{4}/, '$&:')}`,
    String(value),
    `0x${hex}`,
    text.replace(/\d+/g, (octet) => `0${Number(octet).toString(8)}`),
    `${text}.`,
  ]
}

function random(block: { first: bigint; last: bigint }, seed: bigint): bigint {
  const spread = (seed * 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c834n) & (2n ** 128n - 1n)
  return block.first + (spread % (block.last - block.first + 1n))
}

test('none of 5,000 attempts on special addresses, in any notation, opens a socket', async () => {
  const { counted, egress } = countingEgress()
  let attempts = 0
  for (const { block, cidr } of SPECIAL_BLOCKS) {
    // The kernel treats a mapped address as its IPv4 address; the rows of IPv4 are written as
    // mapped ones below.
    if (cidr === '::ffff:0:0/96') continue
    const values = [block.first, block.last]
    for (let seed = 1n; seed <= 8n; seed++) values.push(random(block, seed))
    for (const value of values) {
      for (const address of spellings({ version: block.version, value })) {
        attempts += 2
        const request = { address, port: 443, timeoutMs: 100, signal: NEVER }
        await expect(egress.dial(request)).rejects.toMatchObject({ reason: 'forbidden' })
        expect(() => egress.datagram({ address, port: 53 })).toThrow(DialError)
      }
    }
  }
  expect(attempts).toBeGreaterThan(5_000)
  expect(counted.attempts).toBe(0)
})

test('metadata services are refused, even at a public address', () => {
  const { egress } = countingEgress()
  for (const address of ['169.254.169.254', '168.63.129.16', 'fd00:ec2::254', '100.100.100.200']) {
    expect(egress.permits(address)).toBe(false)
  }
  expect(egress.permits('8.8.8.8')).toBe(true)
  expect(egress.permits('::ffff:8.8.8.8')).toBe(true)
  expect(egress.permits('2606:4700:4700::1111')).toBe(true)
})

test('an allow list permits its blocks, mapped or not, and no others', () => {
  const egress = createEgress({ allow: ['127.0.0.0/8', '::1'] })
  expect(egress.permits('127.3.2.1')).toBe(true)
  expect(egress.permits('::ffff:127.0.0.1')).toBe(true)
  expect(egress.permits('::1')).toBe(true)
  expect(egress.permits('10.0.0.1')).toBe(false)
  expect(() => createEgress({ allow: ['localhost'] })).toThrow(/not a CIDR/)
})

test('a dial to an allowed listener returns an open socket', async () => {
  const server = createServer((socket) => socket.end('hello'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const egress = createEgress({ allow: ['127.0.0.0/8'] })
  const socket = await egress.dial({ address: '127.0.0.1', port, timeoutMs: 2_000, signal: NEVER })
  onTestFinished(() => void socket.destroy())
  const heard = await new Promise((resolve) => socket.once('data', resolve))
  expect(String(heard)).toBe('hello')
})

test('a trusted address is dialled though it is special-purpose; a name never is', async () => {
  const { counted, egress } = countingEgress()
  const request = { port: 53, timeoutMs: 100, signal: NEVER, trusted: true }
  await expect(egress.dial({ ...request, address: '127.0.0.1' })).rejects.toThrow('was reached')
  await expect(egress.dial({ ...request, address: 'localhost' })).rejects.toThrow(DialError)
  expect(counted.attempts).toBe(1)
})

test('own addresses of the machine are refused, unless allowed, trusted or permitted by the request', async () => {
  const reached: string[] = []
  const reach = ({ transport, address }: Target): never => {
    reached.push(`${transport} ${address}`)
    throw new Error('the dialler was reached')
  }
  const connect = { tcp: reach, udp: reach }
  const isOwn = (address: IpAddress): boolean =>
    ['5.6.7.8', '5.6.7.9', '2a00:1::1'].includes(formatAddress(address))
  const egress = createEgress({ allow: ['5.6.7.9/32'], connect, isOwn })
  const request = { port: 443, timeoutMs: 100, signal: NEVER }
  for (const address of ['5.6.7.8', '::ffff:5.6.7.8', '2a00:1::1']) {
    await expect(egress.dial({ ...request, address })).rejects.toMatchObject({
      reason: 'forbidden',
    })
    expect(() => egress.datagram({ address, port: 53 })).toThrow(DialError)
    expect(egress.permits(address)).toBe(true)
  }
  expect(reached).toEqual([])
  const address = '5.6.7.8'
  await expect(egress.dial({ ...request, address: '5.6.7.10' })).rejects.toThrow('was reached')
  await expect(egress.dial({ ...request, address: '5.6.7.9' })).rejects.toThrow('was reached')
  await expect(egress.dial({ ...request, address, trusted: true })).rejects.toThrow('was reached')
  await expect(egress.dial({ ...request, address, mayBeOwn: true })).rejects.toThrow('was reached')
  expect(() => egress.datagram({ address, port: 53, mayBeOwn: true })).toThrow('was reached')
  expect(reached).toEqual([
    'tcp 5.6.7.10',
    'tcp 5.6.7.9',
    'tcp 5.6.7.8',
    'tcp 5.6.7.8',
    'udp 5.6.7.8',
  ])
  await expect(
    egress.dial({ ...request, address: '10.0.0.1', mayBeOwn: true }),
  ).rejects.toMatchObject({ reason: 'forbidden' })
})

test('an aborted dial and a closed port are distinguished', async () => {
  const egress = createEgress({ allow: ['127.0.0.0/8'] })
  const request = { address: '127.0.0.1', port: 1, timeoutMs: 2_000 }
  await expect(egress.dial({ ...request, signal: NEVER })).rejects.toMatchObject({
    reason: 'network',
  })
  await expect(egress.dial({ ...request, signal: AbortSignal.abort() })).rejects.toMatchObject({
    reason: 'aborted',
  })
})

test('a connection that reached another address than the permitted one is refused and closed', async () => {
  const server = createServer((socket) => socket.resume())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  // Safe because it listens on TCP.
  const { port } = server.address() as AddressInfo
  const opened: Socket[] = []
  const tcp = (): Socket => {
    const socket = connect(port, '127.0.0.1')
    opened.push(socket)
    return socket
  }
  const egress = createEgress({ allow: ['127.0.0.0/8'], connect: { tcp } })
  const request = { address: '127.0.0.2', port, timeoutMs: 2_000, signal: NEVER }
  await expect(egress.dial(request)).rejects.toMatchObject({ reason: 'forbidden' })
  expect(opened[0]?.destroyed).toBe(true)
})

test('a socket that does not connect in time is closed', async () => {
  const socket = new Socket()
  const egress = createEgress({ allow: ['127.0.0.0/8'], connect: { tcp: () => socket } })
  const request = { address: '127.0.0.1', port: 1, timeoutMs: 1, signal: NEVER }
  await expect(egress.dial(request)).rejects.toMatchObject({ reason: 'timeout' })
  expect(socket.destroyed).toBe(true)
})

test('TLS does not begin in a run that has ended', async () => {
  const request = { servername: 'site.test', timeoutMs: 60_000, signal: AbortSignal.abort() }
  await expect(secure(new Socket(), request)).rejects.toMatchObject({ reason: 'aborted' })
})
