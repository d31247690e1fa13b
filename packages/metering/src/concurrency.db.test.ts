import { openDatabase } from '@plumbline/db/database'
import { expect, test } from 'vitest'
import { openLossyProxy } from '@plumbline/testkit/lossy-proxy'
import { openMeteringContext } from '@plumbline/testkit/metering'
import { soakSize } from '@plumbline/testkit/soak'
import { auditLedger } from '@plumbline/testkit/audit-ledger'
import { createMetering, type Metering } from './metering.ts'
import { grantGoodwill } from './grant.ts'
import { hold, release, settle } from './hold.ts'

/** Number of moves over many connections. */
const MOVES = soakSize(10_000, 2_000)

/** A small seeded generator, so that a run can be repeated (mulberry32). */
function seeded(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

test(`${MOVES} concurrent moves from 20 connections leave the balance that their results imply`, async () => {
  await using context = await openMeteringContext(10)
  await using otherDb = openDatabase({ url: context.url, poolSize: 10, applicationName: 'other' })
  await using other = createMetering(otherDb)
  const sides = [
    { metering: context.metering, db: context.db },
    { metering: other, db: otherDb },
  ] as const
  const ids = await Promise.all(Array.from({ length: 5 }, () => context.account('starter')))
  const moved = new Map(ids.map((id) => [id, { available: 5_000, held: 0 }]))
  const next = seeded(20_261_121)
  let started = 0

  async function worker(n: number): Promise<void> {
    const { metering, db } = sides[n % 2 === 0 ? 0 : 1]
    while (started < MOVES) {
      const at = started++
      const id = ids[next(ids.length)] ?? ''
      const account = moved.get(id) ?? { available: 0, held: 0 }
      const opKey = `op${at}`
      const credits = 1 + next(9)
      const sort = next(10)
      if (sort < 6) {
        const answer = await metering.debit({ accountId: id, opKey, credits })
        if (!answer.granted) continue
        const ended = await endOne(metering, { accountId: id, opKey }, next(4))
        account.available += ended - credits
      } else if (sort < 9) {
        const done = await listOfTwoChunks(metering, db, { accountId: id, ref: opKey, credits })
        account.available -= done.charged
        account.held += done.left
        account.available -= done.left
      } else if (next(2) === 0) {
        // The same source from two connections at once is one grant.
        await Promise.all(sides.map((side) => grantGoodwill(side.db, id, credits, `gift${at}`)))
        account.available += credits
      } else {
        await metering.balance(id)
      }
    }
  }

  await Promise.all(Array.from({ length: 20 }, (_, n) => worker(n)))
  for (const [id, expected] of moved) {
    const balance = await context.metering.balance(id)
    expect({ available: balance?.available, held: balance?.held }).toEqual(expected)
  }
  expect(await auditLedger(context.db)).toEqual([])
})

/** Closes a debit in one of four ways; returns the refunded credits. */
async function endOne(
  metering: Metering,
  operation: { accountId: string; opKey: string },
  way: number,
): Promise<number> {
  if (way === 0) return (await metering.refund({ ...operation, reason: 'test' })).given
  if (way === 1) return (await metering.finalize({ ...operation, giveBack: 1 })).given
  if (way === 2) return 0
  const both = await Promise.all([
    metering.finalize(operation),
    metering.refund({ ...operation, reason: 'race' }),
  ])
  expect(both[0].state).toBe(both[1].state)
  return both[1].given
}

/**
 * Holds credits for two chunks, settles the first twice, and abandons, cancels or finishes the
 * rest.
 */
async function listOfTwoChunks(
  metering: Metering,
  db: MeteringDb,
  held: { accountId: string; ref: string; credits: number },
): Promise<{ charged: number; left: number }> {
  const { accountId, ref } = held
  const credits = held.credits * 2
  const work = db.kysely.transaction()
  const answer = await work.execute((tx) => hold(tx, { accountId, ref, credits }))
  if (!answer.granted) return { charged: 0, left: 0 }
  const chunk = { accountId, ref, opKey: `${ref}:0`, credits: held.credits }
  const settled = await Promise.all(
    [chunk, chunk].map((request) => work.execute((tx) => settle(tx, request))),
  )
  expect(settled.toSorted()).toEqual([false, true])
  if (held.credits % 3 === 0) return { charged: held.credits, left: held.credits }
  const end = { accountId, ref, opKey: `${ref}:end` }
  const released = await Promise.all(
    [end, end].map((request) => work.execute((tx) => release(tx, request))),
  )
  expect(released.filter((one) => one === held.credits)).toHaveLength(1)
  return { charged: held.credits, left: 0 }
}

type MeteringDb = Parameters<typeof createMetering>[0]

test.each([
  { accounts: 3, rounds: 99 },
  { accounts: 1, rounds: 60 },
])('a lost reply to a commit charges no account twice: $accounts', async ({ accounts, rounds }) => {
  await using context = await openMeteringContext()
  await using proxy = await openLossyProxy(context.url)
  await using db = openDatabase({ url: proxy.url, poolSize: 4, applicationName: 'lossy' })
  await using metering = createMetering(db)
  const ids = await Promise.all(Array.from({ length: accounts }, () => context.account('starter')))
  let taken = 0
  for (let round = 0; round < rounds; round += 1) {
    if (round % 3 === 0) proxy.loseNextReply('credit_debit')
    const requests = [...ids, ...ids].map((accountId, n) => {
      return { accountId, opKey: `r${round}.${n}`, credits: 3 }
    })
    const answers = await Promise.all(requests.map((request) => metering.debit(request)))
    expect(answers.every((answer) => answer.granted)).toBe(true)
    taken += 3 * requests.length
    if (round % 3 === 1) proxy.loseNextReply('credit_close')
    if (round % 3 === 2) proxy.loseNextReply('credit_answered')
    const ends = await Promise.all(
      requests.map((request, n) =>
        n === 0 ? metering.refund({ ...request, reason: 'test' }) : metering.finalize(request),
      ),
    )
    expect(ends.map((end) => end.state)).toEqual(
      requests.map((_, n) => (n === 0 ? 'refunded' : 'answered')),
    )
    taken -= 3
  }
  expect(proxy.lostCount()).toBe(rounds)
  const left = await Promise.all(ids.map((id) => context.metering.remaining(id)))
  expect(left.reduce<number>((sum, one) => sum + (one ?? 0), 0)).toBe(5_000 * accounts - taken)
  expect(await auditLedger(context.db)).toEqual([])
})

test('a locked row delays its own account only', async () => {
  await using context = await openMeteringContext()
  const [locked, free] = [await context.account(), await context.account()]
  await using blocker = await keepLocked(context, locked)
  const waiting = context.metering.debit({ accountId: locked, opKey: 'a', credits: 1 })
  // A turn later, so that the second request is in another batch.
  await new Promise((next) => setImmediate(next))
  expect(await context.metering.debit({ accountId: free, opKey: 'b', credits: 1 })).toMatchObject({
    granted: true,
  })
  await blocker.letGo()
  expect(await waiting).toMatchObject({ granted: true, remaining: 199 })
})

async function keepLocked(
  context: { readonly db: MeteringDb },
  accountId: string,
): Promise<AsyncDisposable & { letGo(): Promise<void> }> {
  const client = await context.db.pool.connect()
  await client.query('begin')
  await client.query('select from credit_accounts where account_id = $1 for update', [accountId])
  let open = true
  const letGo = async () => {
    if (!open) return
    open = false
    await client.query('commit')
    client.release()
  }
  return { letGo, [Symbol.asyncDispose]: letGo }
}
