import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { readSettings } from './settings.ts'
import { storeSettings } from './store-settings.ts'

const { DATABASE_URL, REDIS_URL } = storeSettings
const schema = z.object({ DATABASE_URL, REDIS_URL })

describe('addresses of servers have the scheme of their kind', () => {
  it.each([
    ['postgres://u:p@db/name', 'redis://127.0.0.1:6379'],
    ['postgresql:///name?host=/run/postgresql', 'rediss://:p@cache:6380/1'],
    ['postgres://db', 'redis-cluster://a:1,b:2'],
  ])('%s and %s', (database, redis) => {
    const settings = { DATABASE_URL: database, REDIS_URL: redis }
    expect(readSettings(schema, settings)).toEqual(settings)
  })

  it('others are refused by name', () => {
    expect(() => readSettings(schema, { DATABASE_URL: 'db', REDIS_URL: 'http://cache' })).toThrow(
      /2 faults:\n {2}DATABASE_URL: expected a postgres.+\n {2}REDIS_URL: expected a redis/,
    )
  })
})
