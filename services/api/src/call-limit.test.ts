import { expect, test } from 'vitest'
import { createCallLimit } from './call-limit.ts'

test('an account at its limit is refused while others are admitted, and a process at its limit refuses all', () => {
  const room = createCallLimit({ CALLS_LIMIT: 3, CALLS_PER_ACCOUNT: 2 })
  const first = room.enter('a')
  room.enter('a')
  expect(() => room.enter('a')).toThrow(
    expect.objectContaining({ code: 'too_many_requests', retryAfterSeconds: 1 }),
  )
  room.enter('b')
  expect(() => room.enter('b')).toThrow(
    expect.objectContaining({ code: 'unavailable', retryAfterSeconds: 1 }),
  )
  first[Symbol.dispose]()
  // A refusal has taken no room.
  room.enter('b')
  expect(() => room.enter('c')).toThrow(expect.objectContaining({ code: 'unavailable' }))
})
