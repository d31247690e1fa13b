import type { Request } from 'express'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Access } from './access.ts'
import { abortWhenRevoked } from './key-revocation.ts'

test('a database that is away is reported once by each download, and once more after it was back', async () => {
  let checks = 0
  let isAway = true
  const find = async (): Promise<object | undefined> => {
    checks += 1
    if (isAway) throw new Error('away')
    return { status: 'active' }
  }
  const errors: unknown[] = []
  const ctx = {
    // Safe because a request with a key needs nothing else to be checked.
    access: { apiKeys: { find } } as unknown as Access,
    onError: (error: unknown) => void errors.push(error),
  }
  const revoked = new AbortController()
  const more = async (): Promise<void> => {
    const before = checks
    await expect.poll(() => checks).toBeGreaterThan(before + 3)
  }
  const request = { headers: { authorization: 'Bearer key' } } as Request
  using _ = abortWhenRevoked(ctx, request, revoked)
  await more()
  expect(errors).toHaveLength(1)
  isAway = false
  await more()
  isAway = true
  await more()
  expect(errors).toHaveLength(2)
  expect(revoked.signal.aborted).toBe(false)
})

/** A context in which keys are found by `find`, whose errors are not expected. */
function contextOf(
  find: () => Promise<object | undefined>,
): Parameters<typeof abortWhenRevoked>[0] {
  return {
    // Safe because a request with a key needs nothing else to be checked.
    access: { apiKeys: { find } } as unknown as Access,
    onError: (error) => {
      throw error
    },
  }
}

test('a response ends once its key is revoked', async () => {
  let found: object | undefined = { status: 'active' }
  let checks = 0
  const find = async (): Promise<object | undefined> => {
    checks += 1
    return found
  }
  const revoked = new AbortController()
  const request = { headers: { authorization: 'Bearer key' } } as Request
  using _ = abortWhenRevoked(contextOf(find), request, revoked)
  await expect.poll(() => checks).toBeGreaterThan(1)
  expect(revoked.signal.aborted).toBe(false)
  found = undefined
  await expect.poll(() => revoked.signal.aborted).toBe(true)
})

test('a key is not checked again before the check under way has ended', () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  let checks = 0
  const find = (): Promise<undefined> => {
    checks += 1
    return new Promise(() => undefined)
  }
  const request = { headers: { authorization: 'Bearer key' } } as Request
  using _ = abortWhenRevoked(contextOf(find), request, new AbortController())
  vi.advanceTimersByTime(1_000)
  expect(checks).toBe(1)
})
