import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { startEmbeddedPostgres } from '@plumbline/db/embedded'
import { lockDataDir } from './data-dir-lock.ts'
import { refuseMoved } from './moved-mark.ts'

/** Whether a data directory has a packaged Postgres. */
export async function hasPackagedPostgres(dataDir: string): Promise<boolean> {
  return (await stat(join(dataDir, 'postgres')).catch(() => undefined)) !== undefined
}

/**
 * Starts the packaged Postgres of a data directory for a command that must be alone with it, and locks
 * the directory; both end when the stack is disposed.
 *
 * @returns the URL of the database
 * @throws Error if the service runs, or its database was moved
 */
export async function startStoppedPostgres(
  stack: AsyncDisposableStack,
  dataDir: string,
): Promise<string> {
  stack.use(
    await lockDataDir(dataDir).catch((cause: unknown) => {
      throw new Error('stop the service first', { cause })
    }),
  )
  await refuseMoved(dataDir)
  const postgres = await startEmbeddedPostgres({ dataDir })
  stack.defer(() => postgres.stop())
  if (postgres.joined) {
    throw new Error('stop the service first: another process has its database open')
  }
  return postgres.url
}
