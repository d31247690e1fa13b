import type { Db } from '@plumbline/db/database'

/**
 * Simulates a process that dies: from the given statement on, counted from 1, every statement throws
 * before it is sent.
 */
export function dyingDb(db: Db, atStatement: number): Db {
  let count = 0
  const live = (): void => {
    count += 1
    if (count >= atStatement) throw new Error('the process has died')
  }
  const plugin: Parameters<Db['kysely']['withPlugin']>[0] = {
    transformQuery: ({ node }) => {
      live()
      return node
    },
    transformResult: async ({ result }) => result,
  }
  const query = (...words: unknown[]): unknown => {
    live()
    return Reflect.apply(db.pool.query, db.pool, words)
  }
  const pool = new Proxy(db.pool, {
    get: (target, name) => {
      if (name === 'query') return query
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  return { ...db, kysely: db.kysely.withPlugin(plugin), pool }
}
