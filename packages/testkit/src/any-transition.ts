import type { Db } from '@plumbline/db/database'

/** Disables the state triggers, so that a test can put batches and tasks into any state. */
export async function allowAnyTransition(db: Db): Promise<void> {
  await db.pool.query(`
    alter table batches disable trigger known_moves;
    alter table tasks disable trigger known_moves;
    alter table tasks disable trigger higher_lease`)
}
