import type { Request, Response } from 'express'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Access } from './access.ts'
import { abortWhenRevoked } from './key-revocation.ts'
import { openRequestContext } from './request-context.ts'

/** The caller of a key that may be used. */
const ACTIVE = { status: 'active', mode: 'live' }

/** A request with a key, and its response. */
function asked(): readonly [Request, Response] {
  // Safe because no more of them is used.
  const request = { headers: { authorization: 'Bearer key' } } as Request
  const response = { req: request } as Response
  openRequestContext(response)
  return [request, response]
}

test('a database that is away is reported once by each download, and once more after it was back', async () => {
  let checks = 0
  let isAway = true
  const find = async (): Promise<object | undefined> => {
    checks += 1
    if (isAway) throw new Error('away')
    return ACTIVE
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
  using _ = abortWhenRevoked(ctx, ...asked(), revoked)
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
  let found: object | undefined = ACTIVE
  let checks = 0
  const find = async (): Promise<object | undefined> => {
    checks += 1
    return found
  }
  const revoked = new AbortController()
  using _ = abortWhenRevoked(contextOf(find), ...asked(), revoked)
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
  using _ = abortWhenRevoked(contextOf(find), ...asked(), new AbortController())
  vi.advanceTimersByTime(1_000)
  expect(checks).toBe(1)
})
