import { join, resolve } from 'node:path'
import { openDatabase, type Db } from '@plumbline/db/database'
import { migrate } from '@plumbline/db/migrate'
import { moveDatabase, type MovedTable } from '@plumbline/db/move-database'
import { placeOf } from '@plumbline/db/server-address'
import { INSTALLATION_KEY_FILE } from '@plumbline/runtime/installation-key'
import { readSettings } from '@plumbline/runtime/settings'
import { markMoved } from './moved-mark.ts'
import { hasPackagedPostgres, startStoppedPostgres } from './packaged-postgres.ts'
import { ownerUrl, prepareDatabase } from './prepare-database.ts'
import { runCommand } from './run-command.ts'
import { localSettings, type LocalSettings } from './settings.ts'

// npm run move: copies the database of the packaged Postgres below DATA_DIR to the server of
// DATABASE_URL, while the service is stopped, and names the settings to change then.

/** Time-out of a statement on a large table: six hours. */
const LONGEST_MS = 6 * 3_600_000

await runCommand('The database was not moved', async () => {
  const settings = readSettings(localSettings)
  return told(await move(settings), settings)
})

async function move(settings: LocalSettings): Promise<readonly MovedTable[]> {
  const { DATABASE_URL: serving, MIGRATE_DATABASE_URL, DATABASE_DIRECT_URL: direct } = settings
  if (serving === undefined) {
    throw new Error('expected DATABASE_URL, the address of the server that it is to be moved to')
  }
  const dataDir = resolve(settings.DATA_DIR)
  if (!(await hasPackagedPostgres(dataDir))) {
    throw new Error(`${dataDir} has no packaged Postgres; set DATA_DIR to the one of "npm start"`)
  }
  await using stack = new AsyncDisposableStack()
  const source = stack.use(open(await startStoppedPostgres(stack, dataDir)))
  const urls = { owner: MIGRATE_DATABASE_URL ?? serving, serving, direct }
  const target = stack.use(open(ownerUrl(urls)))
  await refuseForeignTables(target)
  // Before anything is copied, so that problems are reported at once.
  await prepareDatabase(target, urls)
  await migrate(source)
  const moved = await moveDatabase(source, target)
  await markMoved(dataDir, placeOf(serving))
  return moved
}

/** Refuses a target with tables that are not the service's. */
async function refuseForeignTables(target: Db): Promise<void> {
  const { rowCount: strange } = await target.pool.query(
    `select from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
       and to_regclass('public.migrations') is null limit 1`,
  )
  if (strange !== 0) {
    throw new Error(
      'the database of DATABASE_URL holds tables of something else; give an empty one',
    )
  }
}

function open(url: string): Db {
  return openDatabase({ url, poolSize: 2, applicationName: 'move', statementMs: LONGEST_MS })
}

function told(moved: readonly MovedTable[], { DATA_DIR, DATABASE_URL }: LocalSettings): string {
  const rows = moved.reduce((sum, { rowCount }) => sum + rowCount, 0)
  const dataDir = resolve(DATA_DIR)
  return [
    `${moved.length} tables with ${rows} rows are in ${placeOf(DATABASE_URL ?? '')}, each compared with what was sent.`,
    'From now on set DATABASE_URL (and MIGRATE_DATABASE_URL, where you gave it) as for this command.',
    'Programs that do not share this DATA_DIR need these two as well:',
    `  INSTALLATION_KEY_FILE  a copy of ${join(dataDir, INSTALLATION_KEY_FILE)}`,
    `  FILES_URL              where ${join(dataDir, 'files')} is mounted, or a bucket that it was copied to`,
    'What was moved is still here, and "npm start" does not serve from it any more.',
    '',
  ].join('\n')
}
