import { setTimeout as wait } from 'node:timers/promises'
import type { Express } from 'express'
import type { Log } from '@plumbline/ports/log'
import { listenForAdmin } from '@plumbline/runtime/admin-server'
import { adminProgram } from './admin-program.ts'
import { createApp } from './app.ts'
import { openContext } from './context.ts'
import { listen } from './server.ts'
import type { ApiSettings } from './settings.ts'

/** The running API. */
export interface Api extends AsyncDisposable {
  readonly address: string
  readonly port: number
  readonly adminPort: number
}

/**
 * Opens the dependencies of the API and listens; disposing of the result closes the listener first.
 * @param found resolves once the file by which the CLI finds the service is written; default: at once
 */
export async function serve(
  settings: ApiSettings,
  log: Log,
  stop: AbortSignal,
  found: Promise<void> = Promise.resolve(),
): Promise<Api> {
  await using stack = new AsyncDisposableStack()
  const ctx = stack.use(await openContext(settings, log, { stopping: stop, found }))
  const admin = stack.use(
    await listenForAdmin(adminProgram(ctx), {
      host: settings.ADMIN_HOST,
      port: settings.ADMIN_PORT,
      token: settings.ADMIN_TOKEN,
    }),
  )
  const app = createApp(ctx)
  const server = stack.use(
    await listen(ctx, app, {
      host: settings.HOST,
      port: settings.PORT,
      maxConnections: settings.MAX_CONNECTIONS,
      connectionsPerAddress: settings.CONNECTIONS_PER_ADDRESS,
      isProxy: (address) => proxiesOf(app)(address, 0),
      sendTimeoutMs: settings.SEND_TIMEOUT_SECONDS * 1_000,
      drainMs: settings.DRAIN_SECONDS * 1_000,
    }),
  )
  // A load balancer is to see 503 on /readyz before connections are refused.
  stack.defer(() => (stop.aborted ? wait(settings.STOP_DELAY_SECONDS * 1_000) : undefined))
  const owned = stack.move()
  return {
    address: server.address,
    port: server.port,
    adminPort: admin.port,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** Whether express, which has parsed the setting, takes an address for a trusted proxy. */
function proxiesOf(app: Express): (address: string, hop: number) => boolean {
  // Safe because express makes it of the setting `trust proxy`. Source: express 5,
  // lib/application.js.
  return app.get('trust proxy fn') as (address: string, hop: number) => boolean
}
