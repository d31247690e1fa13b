import { spawnSync } from 'node:child_process'
import { chmod, mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isCi } from './ci.ts'
import { freePort, startChildServer } from './child-server.ts'

/** Path of PgBouncer in Debian, which is in no user's PATH. */
const BINARY = '/usr/sbin/pgbouncer'

/** Whether PgBouncer is installed, or must be: with CI=true the tests fail without it. */
export function canRunPgBouncer(): boolean {
  return isCi() || spawnSync(BINARY, ['--version']).status === 0
}

/** A PgBouncer in transaction mode in front of a server. */
export interface PgBouncer extends AsyncDisposable {
  /** The URL of the same database and user through PgBouncer. */
  urlOf(databaseUrl: string): string
}

/**
 * Starts PgBouncer with default settings except for the mode: it refuses unknown session settings, and
 * each transaction gets any free one of `sessions` server sessions.
 */
export async function startPgBouncer(serverUrl: string, sessions = 4): Promise<PgBouncer> {
  await using stack = new AsyncDisposableStack()
  const dir = stack.use(await mkdtempDisposable(join(tmpdir(), 'pgbouncer-'))).path
  await chmod(dir, 0o755)
  const server = new URL(serverUrl)
  const port = await freePort()
  const users = join(dir, 'users.txt')
  const config = join(dir, 'pgbouncer.ini')
  const { username, password } = server
  await writeFile(users, `"${decodeURIComponent(username)}" "${decodeURIComponent(password)}"\n`)
  const lines = [
    '[databases]',
    `* = host=${server.hostname} port=${server.port}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = trust',
    `auth_file = ${users}`,
    'pool_mode = transaction',
    'max_client_conn = 300',
    `default_pool_size = ${sessions}`,
  ]
  await writeFile(config, lines.join('\n'))
  // SIGINT would wait for transactions to end.
  const child = await startChildServer(BINARY, [config], { ready: 'process up', signal: 'SIGTERM' })
  stack.defer(() => child.stop())
  const owned = stack.move()
  return {
    urlOf(databaseUrl) {
      const url = new URL(databaseUrl)
      url.hostname = '127.0.0.1'
      url.port = String(port)
      return url.href
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
