import { createSemaphore } from '@plumbline/concurrency/semaphore'
import { withTimeOut } from '@plumbline/concurrency/time-out'
import type pg from 'pg'
import { CONNECT_MS, queriesOver, type Db } from './database.ts'

/**
 * A view of a pool that uses at most `most` of its connections at once: the others stay free for
 * statements through the pool itself, which then do not wait for those through the view. Disposing
 * of it does nothing; it ends with its pool.
 */
export function limitConnections({ pool }: Db, most: number): Db {
  const permits = createSemaphore(most)

  async function enter(): Promise<() => void> {
    const entering = permits.enter()
    try {
      // The driver's message, so that both waits for a connection are one kind of error.
      return await withTimeOut(CONNECT_MS, entering, 'timeout exceeded when trying to connect')
    } catch (error) {
      void entering.then((exit) => exit())
      throw error
    }
  }

  async function connect(): Promise<pg.PoolClient> {
    const exit = await enter()
    try {
      const client = await pool.connect()
      // Set anew whenever the pool hands the connection out.
      const { release } = client
      client.release = (destroy) => {
        release(destroy)
        exit()
      }
      return client
    } catch (error) {
      exit()
      throw error
    }
  }

  async function query(...statement: readonly unknown[]): Promise<unknown> {
    const exit = await enter()
    try {
      return await Reflect.apply(pool.query, pool, statement)
    } finally {
      exit()
    }
  }

  const view = asPool({ connect, query, options: pool.options, end: async () => {} })
  return { kysely: queriesOver(view), pool: view, [Symbol.asyncDispose]: async () => {} }
}

/** Safe because statements use nothing of a pool but these, and none with a callback. */
function asPool(view: object): pg.Pool {
  return view as pg.Pool
}
