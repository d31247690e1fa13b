import { fork } from 'node:child_process'
import { once } from 'node:events'
import { NAME, readPassword } from '@plumbline/db/embedded-cluster'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const MAIN = fileURLToPath(new URL('../../services/local/src/main.ts', import.meta.url))

/** A service started by `npm start` with a data directory of its own. */
export interface LocalService extends AsyncDisposable {
  readonly url: string
  /** URL of the operator's pages. */
  readonly adminUrl: string
  /** URL of the embedded Postgres with the role that owns the tables. */
  readonly ownerUrl: string
}

/** Starts such a service with the given settings. */
export async function startLocal(
  settings: Readonly<Record<string, string>>,
): Promise<LocalService> {
  const dataDir = await mkdtemp(join(tmpdir(), 'plumbline-web-'))
  const child = fork(MAIN, {
    env: {
      ...process.env,
      ...settings,
      DATA_DIR: dataDir,
      DATABASE_URL: '',
      REDIS_URL: '',
      PORT: '0',
      ADMIN_PORT: '0',
    },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  let greeting = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    greeting += text
  })
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM')
    if (child.exitCode === null) await once(child, 'exit')
    await rm(dataDir, { recursive: true, force: true })
  }
  await Promise.race([once(child, 'message'), once(child, 'exit')])
  const url = /listens on (\S+)/.exec(greeting)?.[1]
  if (url === undefined) {
    await stop()
    throw new Error(`the service did not start:\n${greeting}`)
  }
  // Safe because `npm start` writes it before it prints its address.
  const facts = JSON.parse(await readFile(join(dataDir, 'service.json'), 'utf8')) as {
    readonly databaseUrl: string
    readonly adminUrl: string
  }
  const { databaseUrl, adminUrl } = facts
  const owner = new URL(databaseUrl)
  owner.username = NAME
  owner.password = await readPassword(join(dataDir, 'postgres'), 'password')
  return { url, adminUrl, ownerUrl: owner.href, [Symbol.asyncDispose]: stop }
}
