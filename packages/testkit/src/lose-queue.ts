import { openDatabase } from '@plumbline/db/database'
import { grantServing } from '@plumbline/db/serving-role'
import { migrateQueue } from '@plumbline/queue/postgres-queues'
import pg from 'pg'
import { servingUrlOf } from './postgres.ts'

const ATTEMPTS = 50
const DEADLOCK_DETECTED = '40P01'

/**
 * Drops the queue's schema while workers run, and migrates it again. The drop may deadlock with
 * statements of workers: its `deadlock_timeout` is some milliseconds instead of a second, so that the
 * drop is aborted and retried, and not a worker's statement.
 */
export async function losePostgresQueue(databaseUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'test' })
  await client.connect()
  try {
    await client.query("set deadlock_timeout = '20ms'")
    for (let attempt = 1; !(await dropped(client)); attempt += 1) {
      if (attempt === ATTEMPTS) throw new Error(`the queue was locked ${ATTEMPTS} times over`)
    }
  } finally {
    await client.end()
  }
  await migrateQueue(databaseUrl)
  await using db = openDatabase({ url: databaseUrl, poolSize: 1, applicationName: 'test' })
  await grantServing(db, servingUrlOf(databaseUrl))
}

async function dropped(client: pg.Client): Promise<boolean> {
  try {
    await client.query('drop schema bullmq cascade')
    return true
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.code === DEADLOCK_DETECTED) return false
    throw error
  }
}
