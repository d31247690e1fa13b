import type { Db } from '@plumbline/db/database'
import { migrate } from '@plumbline/db/migrate'
import { grantServing } from '@plumbline/db/serving-role'
import { limitSessions } from '@plumbline/db/session-limits'
import { migrateQueue } from '@plumbline/queue/postgres-queues'

/** URLs of a database. */
export interface DatabaseUrls {
  /** With the role that owns the tables and migrates. */
  readonly owner: string
  /** With the role that serves; of the pooler, if there is one. */
  readonly serving: string
  /** Past a pooler. */
  readonly direct: string | undefined
}

/** The URL with which the owner's acts are done: not through a pooler. */
export function ownerUrl({ owner, serving, direct }: DatabaseUrls): string {
  return owner === serving ? (direct ?? owner) : owner
}

/**
 * Migrates a database and its queue, and grants the serving role its rights and limits.
 *
 * @param db a session at `ownerUrl`
 */
export async function prepareDatabase(db: Db, urls: DatabaseUrls): Promise<void> {
  const { owner, serving, direct } = urls
  await migrate(db)
  await migrateQueue(ownerUrl(urls))
  if (owner !== serving) await grantServing(db, serving)
  if (direct !== undefined) await limitSessions(db, serving)
}
