import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openTestDatabase } from '@plumbline/testkit/database'
import type { Db } from './database.ts'
import {
  claimKey,
  eraseResponses,
  freeKey,
  isKeyHeld,
  storeResponse,
  type IdempotentCall,
} from './idempotency.ts'
import { sweepExpired } from './sweep-expired.ts'

let db: Db
beforeAll(async () => {
  db = await openTestDatabase(4)
})
afterAll(() => db[Symbol.asyncDispose]())

// In place of metering's condition: of all runs here one counts as refunded.
const isRefunded = `held.op_key = 'call:refunded:1'`
const times = { runMs: 60_000, isRefunded }
const answer = { status: 200, location: null, body: '{"a":1}' }

function callOf(key: string, run: number, request = 'same'): IdempotentCall {
  return {
    accountId: 'acc_1',
    mode: 'live',
    path: '/v1/email',
    key,
    fingerprint: Buffer.from(request),
    opKey: `call:${key}:${run}`,
  }
}

function keep(call: IdempotentCall): Promise<boolean> {
  return db.kysely.transaction().execute((tx) => storeResponse(tx, call, answer))
}

test('the first call claims the key, others wait and then get its response', async () => {
  expect(await claimKey(db, callOf('a', 1), times)).toEqual({ kind: 'claimed' })
  expect(await claimKey(db, callOf('a', 2), times)).toEqual({ kind: 'running' })
  expect(await keep(callOf('a', 1))).toBe(true)
  expect(await claimKey(db, callOf('a', 3), times)).toEqual({ kind: 'answered', answer })
  expect(await claimKey(db, callOf('a', 4, 'other'), times)).toEqual({ kind: 'mismatch' })
})

test('a key that was claimed before the clock went back by days is held for as long as any other', async () => {
  expect(await claimKey(db, callOf('ahead', 1), times)).toEqual({ kind: 'claimed' })
  await db.pool.query(`
    update idempotency_keys set claimed_at = claimed_at + interval '2 days', expires_at = expires_at + interval '2 days'
    where key = 'ahead'`)
  await sweepExpired(db, new AbortController().signal)
  expect(await claimKey(db, callOf('ahead', 2), times)).toEqual({ kind: 'running' })
  await wait(20)
  expect(await claimKey(db, callOf('ahead', 3), { ...times, runMs: 10 })).toEqual({
    kind: 'claimed',
  })
})

test('of many concurrent calls exactly one claims the key', async () => {
  const claims = await Promise.all(
    Array.from({ length: 20 }, (_, run) => claimKey(db, callOf('b', run), times)),
  )
  expect(claims.filter(({ kind }) => kind === 'claimed')).toHaveLength(1)
  expect(claims.filter(({ kind }) => kind === 'running')).toHaveLength(19)
})

test('a freed key can be claimed, also with another request', async () => {
  expect(await claimKey(db, callOf('c', 1), times)).toEqual({ kind: 'claimed' })
  await freeKey(db, callOf('c', 2))
  expect(await claimKey(db, callOf('c', 3), times)).toEqual({ kind: 'running' })
  await freeKey(db, callOf('c', 1))
  expect(await claimKey(db, callOf('c', 4, 'other'), times)).toEqual({ kind: 'claimed' })
})

test('a run that counts as dead loses its key and cannot store its response', async () => {
  expect(await claimKey(db, callOf('d', 1), times)).toEqual({ kind: 'claimed' })
  expect(await claimKey(db, callOf('d', 2), { ...times, runMs: 0 })).toEqual({ kind: 'claimed' })
  expect(await keep(callOf('d', 1))).toBe(false)
  await freeKey(db, callOf('d', 1))
  expect(await keep(callOf('d', 2))).toBe(true)
})

test('a stored response is neither replaced nor freed by its own run', async () => {
  const call = callOf('kept', 1)
  await claimKey(db, call, times)
  expect(await keep(call)).toBe(true)
  // As after a commit whose reply was lost.
  expect(await keep(call)).toBe(false)
  await freeKey(db, call)
  expect(await claimKey(db, callOf('kept', 2), times)).toEqual({ kind: 'answered', answer })
})

test('a response is stored for 24 hours, and no dead run counts against it', async () => {
  expect(await claimKey(db, callOf('e', 1), times)).toEqual({ kind: 'claimed' })
  await keep(callOf('e', 1))
  const age = (hours: number): Promise<unknown> =>
    db.pool.query(
      `update idempotency_keys set expires_at = expires_at - $1 * interval '1 hour',
        claimed_at = claimed_at - $1 * interval '1 hour' where key = 'e'`,
      [hours],
    )
  await age(23.9)
  expect(await claimKey(db, callOf('e', 2), { ...times, runMs: 0 })).toEqual({
    kind: 'answered',
    answer,
  })
  await age(0.2)
  expect(await claimKey(db, callOf('e', 3), times)).toEqual({ kind: 'claimed' })
})

test('a key is held while its call runs and its response is stored, only for its account, mode and path', async () => {
  const held = (more: Partial<IdempotentCall> = {}, runMs = times.runMs): Promise<boolean> =>
    isKeyHeld(db, { ...callOf('h', 0), ...more }, { ...times, runMs })
  expect(await held()).toBe(false)
  await claimKey(db, callOf('h', 1), times)
  expect(await held()).toBe(true)
  expect(await held({}, 0)).toBe(false)
  await keep(callOf('h', 1))
  expect(await held({}, 0)).toBe(true)
  for (const other of [{ accountId: 'acc_2' }, { mode: 'test' }, { path: '/v1/ip' }] as const) {
    expect(await held(other)).toBe(false)
  }
  await db.pool.query(`update idempotency_keys set expires_at = now() where key = 'h'`)
  expect(await held()).toBe(false)
})

test('a response that shows a batch is emptied with it, and its key stays taken until it expires', async () => {
  const batchId = 'bat_1'
  const shows = (key: string, id: string | undefined): Promise<boolean> =>
    db.kysely
      .transaction()
      .execute((tx) => storeResponse(tx, callOf(key, 1), { ...answer, batchId: id }))
  for (const key of ['of-it', 'of-another', 'of-none']) await claimKey(db, callOf(key, 1), times)
  await claimKey(db, callOf('runs', 1), times)
  await shows('of-it', batchId)
  await shows('of-another', 'bat_2')
  await shows('of-none', undefined)
  await db.kysely.transaction().execute((tx) => eraseResponses(tx, batchId))
  expect(await claimKey(db, callOf('of-it', 2), times)).toEqual({ kind: 'erased' })
  expect(await isKeyHeld(db, callOf('of-it', 2), times)).toBe(true)
  expect(await claimKey(db, callOf('of-it', 2, 'other'), times)).toEqual({ kind: 'mismatch' })
  for (const key of ['of-another', 'of-none']) {
    expect(await claimKey(db, callOf(key, 2), times)).toEqual({ kind: 'answered', answer })
  }
  expect(await claimKey(db, callOf('runs', 2), times)).toEqual({ kind: 'running' })
  await db.pool.query(`update idempotency_keys set expires_at = now() where batch_id = $1`, [
    batchId,
  ])
  expect(await claimKey(db, callOf('of-it', 3), times)).toEqual({ kind: 'claimed' })
  // The new run has nothing to do with the erased batch, also while it runs.
  await db.kysely.transaction().execute((tx) => eraseResponses(tx, batchId))
  expect(await claimKey(db, callOf('of-it', 4), times)).toEqual({ kind: 'running' })
  expect(await shows('of-it', undefined)).toBe(false)
  expect(await keep(callOf('of-it', 3))).toBe(true)
  await db.kysely.transaction().execute((tx) => eraseResponses(tx, batchId))
  expect(await claimKey(db, callOf('of-it', 5), times)).toEqual({ kind: 'answered', answer })
})

test('a key is free once the debit of its run counts as refunded', async () => {
  expect(await claimKey(db, callOf('refunded', 1), times)).toEqual({ kind: 'claimed' })
  expect(await isKeyHeld(db, callOf('refunded', 2), times)).toBe(false)
  expect(await claimKey(db, callOf('refunded', 2), times)).toEqual({ kind: 'claimed' })
  expect(await claimKey(db, callOf('refunded', 3), times)).toEqual({ kind: 'running' })
})
