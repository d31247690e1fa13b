import type { Request } from 'express'
import { expect, test } from 'vitest'
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
