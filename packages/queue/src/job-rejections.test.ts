import { expect, test } from 'vitest'
import { createJobRejections } from './job-rejections.ts'

const FULL = replyError("OOM command not allowed when used memory > 'maxmemory'.")

function replyError(message: string): Error {
  return Object.assign(new Error(message), { name: 'ReplyError' })
}

function openRejections() {
  const clock = { nowMs: 5_000 }
  return { clock, rejections: createJobRejections(600, () => clock.nowMs) }
}

test('jobs of a check count as rejected after the limit, and one is tried each second', () => {
  const { clock, rejections } = openRejections()
  const failAfter = (ms: number): boolean => {
    clock.nowMs += ms
    rejections.failed('email', FULL)
    return rejections.isRejecting('email')
  }
  expect(failAfter(0)).toBe(false)
  expect(failAfter(599)).toBe(false)
  expect(failAfter(1)).toBe(true)
  expect(rejections.isRejecting('ip')).toBe(false)
  clock.nowMs += 999
  expect(rejections.isRejecting('email')).toBe(true)
  clock.nowMs += 1
  expect(rejections.isRejecting('email')).toBe(false)
  expect(failAfter(0)).toBe(true)
  rejections.accepted('email')
  expect(rejections.isRejecting('email')).toBe(false)
  expect(failAfter(0)).toBe(false)
})

test.each([
  [FULL.message, true],
  ["READONLY You can't write against a read only replica.", true],
  ['MISCONF Redis is configured to save RDB snapshots', true],
  ['NOREPLICAS Not enough good replicas to write.', true],
  ['ERR Error running script', false],
])('whether the server takes no writes: %s', (message, isRejecting) => {
  const { clock, rejections } = openRejections()
  rejections.failed('email', replyError(message))
  clock.nowMs += 600
  rejections.failed('email', replyError(message))
  expect(rejections.isRejecting('email')).toBe(isRejecting)
})

test('a lost connection is no rejection', () => {
  const { clock, rejections } = openRejections()
  rejections.failed('email', new Error('Connection is closed.'))
  clock.nowMs += 600
  rejections.failed('email', new Error('Connection is closed.'))
  expect(rejections.isRejecting('email')).toBe(false)
})
