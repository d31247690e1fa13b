import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { readSettings } from './settings.ts'
import { storeSettings } from './store-settings.ts'

const { DATABASE_URL, REDIS_URL, FILES_URL } = storeSettings
const schema = z.object({ DATABASE_URL, REDIS_URL })

describe('addresses of servers have the scheme of their kind', () => {
  it.each([
    ['postgres://u:p@db/name', 'redis://127.0.0.1:6379'],
    ['postgresql:///name?host=/run/postgresql', 'rediss://:p@cache:6380/1'],
    ['postgres://db', 'redis-cluster://a:1,b:2'],
    ['postgres://u:p%2Fw@[::1]:5432/db?sslmode=require', 'redis-cluster://u:p@[::1]:1,[::2]'],
    ['postgres://u:p@/db?host=/run/postgresql', 'rediss-cluster://a/0'],
    ['postgres://u:100%@%2Frun%2Fpostgresql/db', 'redis://host/?family=6'],
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

describe('addresses that cannot be read', () => {
  it.each([
    ['postgres://u:p/secret@db/name', 'redis://:p/secret@cache'],
    ['postgres://u:p#secret@db/name', 'redis://:p#secret@cache'],
    ['postgres://u:p?secret@db/name', 'redis-cluster://u:p?secret@cache:1,b'],
    ['postgres://u:secret@db:port/name', 'redis://:100%secret@cache'],
    ['postgres://u:secret@[::1/name', 'rediss-cluster://:secret@a:1,b:port'],
  ])('%s and %s are refused by name, and not shown', (database, redis) => {
    const read = (): unknown => readSettings(schema, { DATABASE_URL: database, REDIS_URL: redis })
    expect(read).toThrow(/2 faults:\n {2}DATABASE_URL: .+ %2F.+\n {2}REDIS_URL: .+ %2F/)
    expect(read).not.toThrow('secret')
  })
})

describe('the address of the file store', () => {
  const read = (url: string): unknown =>
    readSettings(z.object({ FILES_URL }), { FILES_URL: url }).FILES_URL

  it.each(['file:///var/files', 'file://localhost/x', 's3://lists', 's3://lists/my files/größe'])(
    'may be %s',
    (url) => expect(read(url)).toBe(url),
  )

  it.each(['/var/files', 'https://lists', 's3:///prefix', 's3://lists/100%', 'file://host/dir'])(
    'is refused by name if it is %s',
    (url) =>
      expect(() => read(url)).toThrow(/FILES_URL: expected file:.+\(got a value that is not/),
  )
})
