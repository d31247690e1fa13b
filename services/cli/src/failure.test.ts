import { readFile } from 'node:fs/promises'
import { RefusedError } from '@plumbline/client/refused'
import { Problem } from '@plumbline/contract/problem'
import { expect, test } from 'vitest'
import { Interrupted, Refusal, UsageError } from './refusal.ts'
import { failureOf, socketFault } from './failure.ts'

test('each kind of failure has its exit status', () => {
  expect(failureOf(new Refusal('No.'))).toEqual({ message: 'No.', status: 1 })
  expect(failureOf(new UsageError('So?'))).toEqual({ message: 'So?', status: 2 })
  expect(failureOf(new Interrupted('Stopped.'))).toEqual({ message: 'Stopped.', status: 130 })
  expect(failureOf(new Problem('forbidden', 'Upgrade.'))).toEqual({
    message: 'Upgrade.',
    status: 1,
  })
  expect(failureOf(new DOMException('aborted', 'AbortError')).status).toBe(130)
  expect(failureOf(new Error('who knew'))).toEqual({ message: 'who knew', status: 1 })
})

test('names of a file that a message quotes cannot control the terminal', () => {
  const said = 'its sheets are "\u009b2J\u001b[31m", "\u202eevil".\nName one.'
  expect(failureOf(new Refusal(said)).message).toBe('its sheets are "?2J?[31m", "evil".\nName one.')
})

test('a refusal of the service keeps its message and request id', () => {
  const refused = new RefusedError({
    status: 402,
    error: 'Payment Required',
    message: 'Top up the account.',
    requestId: 'r1',
    retryAfterSeconds: undefined,
  })
  expect(failureOf(refused)).toEqual({ message: 'Top up the account. (request r1)', status: 1 })
})

test('a file that cannot be read is no failed connection', async () => {
  const fault = await readFile('/no/weights.json').catch((error: unknown) => error)
  expect(failureOf(fault)).toEqual({
    message: "ENOENT: no such file or directory, open '/no/weights.json'",
    status: 1,
  })
})

test('a disk that is full is no failed connection', () => {
  const said = 'ENOSPC: no space left on device, write'
  const fault = Object.assign(new Error(said), { code: 'ENOSPC', syscall: 'write' })
  expect(failureOf(fault)).toEqual({ message: said, status: 1 })
  expect(socketFault(new Error('not stored', { cause: fault }))).toBeUndefined()
})

test('a failed connection is found below the wrappers of fetch and of the driver', () => {
  const socket = Object.assign(new Error('connect ECONNREFUSED ::1:1'), { code: 'ECONNREFUSED' })
  const fetchFault = new TypeError('fetch failed', { cause: socket })
  expect(socketFault(fetchFault)).toBe('connect ECONNREFUSED ::1:1')
  expect(socketFault(new AggregateError([socket]))).toBe('connect ECONNREFUSED ::1:1')
  expect(socketFault(new TypeError('fetch failed', { cause: new Error('bad port') }))).toBe(
    'bad port',
  )
  expect(socketFault(new DOMException('late', 'TimeoutError'))).toBe('no answer in time')
  expect(socketFault(new Error('column is ambiguous'))).toBeUndefined()
  expect(failureOf(fetchFault).message).toBe(
    'The service cannot be reached: connect ECONNREFUSED ::1:1.',
  )
})
