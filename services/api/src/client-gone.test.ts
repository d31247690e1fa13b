import { EventEmitter } from 'node:events'
import type { Response } from 'express'
import { expect, test } from 'vitest'
import { clientGone } from './client-gone.ts'

/** A response of which only its end is used. */
function response(closed: boolean): Response & EventEmitter {
  // Safe because no more of it is used.
  return Object.assign(new EventEmitter(), { closed }) as unknown as Response & EventEmitter
}

test('a client that leaves is gone, and one that had left before is gone at once', () => {
  const res = response(false)
  const gone = clientGone(res)
  expect(gone.signal.aborted).toBe(false)
  res.emit('close')
  expect(gone.signal.aborted).toBe(true)
  expect(clientGone(response(true)).signal.aborted).toBe(true)
})
