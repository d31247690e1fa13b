import type { Db } from '@plumbline/db/database'

type Transaction = ReturnType<Db['kysely']['transaction']>

/**
 * Simulates a failover behind a pooler: transactions for which `isLost` is true, counted from 1, are
 * rolled back though their commit is acknowledged, and the connection stays.
 */
export function losingDb(db: Db, isLost: (transaction: number) => boolean): Db {
  let count = 0
  const execute: Transaction['execute'] = async (work) => {
    count += 1
    const transaction = db.kysely.transaction()
    return isLost(count) ? await rolledBack(transaction, work) : await transaction.execute(work)
  }
  const kysely = new Proxy(db.kysely, {
    get: (target, name) => {
      if (name === 'transaction') return () => ({ execute })
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  return { ...db, kysely }
}

async function rolledBack<T>(
  transaction: Transaction,
  work: Parameters<typeof transaction.execute<T>>[0],
): Promise<T> {
  let done: { readonly result: T } | undefined
  try {
    return await transaction.execute(async (tx) => {
      done = { result: await work(tx) }
      throw new Error('the commit is lost')
    })
  } catch (error) {
    if (done === undefined) throw error
    return done.result
  }
}
