import { openDatabase, type Db } from '@plumbline/db/database'
import { createTestDatabase } from './postgres.ts'

/**
 * A database for one test and a pool of connections to it: `await using db = await
 * openTestDatabase()`.
 */
export async function openTestDatabase(poolSize = 2): Promise<Db> {
  await using stack = new AsyncDisposableStack()
  const { url } = stack.use(await createTestDatabase())
  const { kysely, pool } = stack.use(openDatabase({ url, poolSize, applicationName: 'test' }))
  const owned = stack.move()
  return { kysely, pool, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}
