import { expect, test } from 'vitest'
import { readRedisUrl } from './redis-url.ts'

test('nodes of a cluster are names, IPv4 and IPv6 addresses, each with or without a port', () => {
  const url = 'redis-cluster://cache-1:7000,10.0.0.2,[2001:db8::1]:7002,[2001:db8::2]'
  expect(readRedisUrl(url)).toEqual({
    kind: 'cluster',
    nodes: [
      { host: 'cache-1', port: 7000 },
      { host: '10.0.0.2', port: 6379 },
      { host: '2001:db8::1', port: 7002 },
      { host: '2001:db8::2', port: 6379 },
    ],
    username: '',
    password: '',
    isTls: false,
  })
})

test('the login of a cluster is decoded', () => {
  expect(readRedisUrl('rediss-cluster://us%40er:p%2Fw@cache/0')).toEqual({
    kind: 'cluster',
    nodes: [{ host: 'cache', port: 6379 }],
    username: 'us@er',
    password: 'p/w',
    isTls: true,
  })
})
