import { expect, test } from 'vitest'
import { loginOf, placeOf } from './server-address.ts'

// The addresses that the settings accept, as the driver connects with them.
test.each([
  ['postgres://u:p%2Fw@db/name', 'u', 'p/w', 'db:5432/name'],
  ['postgres://u:p@[::1]:6543/name?sslmode=disable', 'u', 'p', '::1:6543/name'],
  ['postgres://u:p@/name?host=/run/postgresql', 'u', 'p', '/run/postgresql:5432/name'],
  ['postgres://u:p@%2Frun%2Fpostgresql/name', 'u', 'p', '/run/postgresql:5432/name'],
  ['postgres://db/name?user=Bj%C3%B6rn', 'Björn', '', 'db:5432/name'],
])('%s names its role and its place', (url, user, password, place) => {
  expect(loginOf(url)).toEqual({ user, password })
  expect(placeOf(url)).toBe(place)
})

test.each(['postgres://db/name', 'postgresql:///name?host=/run/postgresql', 'postgres://:p@db/x'])(
  '%s names no role',
  (url) => expect(() => loginOf(url)).toThrow('DATABASE_URL names no user'),
)
