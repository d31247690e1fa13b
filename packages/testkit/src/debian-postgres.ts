import { spawnSync } from 'node:child_process'
import { chown, existsSync } from 'node:fs'
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { isCi } from './ci.ts'
import { freePort, startChildServer, withoutRoot } from './child-server.ts'

/** Folder of the programs of Postgres 15, the oldest supported version, in Debian 12. */
const PROGRAMS = '/usr/lib/postgresql/15/bin'

/** Whether Postgres 15 is installed, or must be: with CI=true the tests fail without it. */
export function canRunPostgres15(): boolean {
  return isCi() || existsSync(join(PROGRAMS, 'postgres'))
}

/** Starts a Postgres 15 for a test; the URL has the superuser. */
export async function startPostgres15(): Promise<AsyncDisposable & { readonly url: string }> {
  await using stack = new AsyncDisposableStack()
  const dir = stack.use(await mkdtempDisposable(join(tmpdir(), 'postgres-15-'))).path
  const { uid, gid } = withoutRoot()
  if (uid !== undefined && gid !== undefined) await promisify(chown)(dir, uid, gid)
  const data = join(dir, 'data')
  const made = spawnSync(
    join(PROGRAMS, 'initdb'),
    ['-D', data, '-U', 'plumbline', '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8', '--no-sync'],
    { encoding: 'utf8', ...withoutRoot() },
  )
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr}`)
  const port = await freePort()
  const settings = [
    `port=${port}`,
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'fsync=off',
    'max_connections=100',
  ]
  const server = await startChildServer(
    join(PROGRAMS, 'postgres'),
    ['-D', data, ...settings.flatMap((setting) => ['-c', setting])],
    { ready: 'ready to accept connections', signal: 'SIGQUIT' },
  )
  stack.defer(() => server.stop())
  const owned = stack.move()
  return {
    url: `postgres://plumbline@127.0.0.1:${port}/postgres`,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
