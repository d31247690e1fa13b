import { fileURLToPath } from 'node:url'
import type { Backend } from '@plumbline/testkit/backends'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { startService, type TestService } from '@plumbline/testkit/service'
import { buildWeb } from '../../infra/build-web.mjs'
import { startMailSink, type MailSink } from './mail-sink.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** Address of the service in messages; tests open the paths after it. */
const PUBLIC_URL = 'http://plumbline.test'

/** A service with its web app built. */
export interface WebService extends AsyncDisposable {
  readonly service: TestService
  /** Receives the service's mail, if `hasMail`. */
  readonly mail: MailSink
}

/** Starts a service that serves the app, with checks that answer from memory. */
export async function startWebService({
  backend,
  hasMail = false,
  kinds = ['email', 'phone', 'ip', 'domain', 'batch'],
  words = [],
  env = {},
}: {
  readonly backend: Backend
  readonly hasMail?: boolean
  /** Checks of the worker; a batch with another check does not end. */
  readonly kinds?: readonly string[]
  /** Options of the worker's engines: `--delay=50`. */
  readonly words?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}): Promise<WebService> {
  const fault = buildWeb(ROOT, process.execPath)
  if (fault !== undefined) throw new Error(`the web app could not be built: ${fault}`)
  await using stack = new AsyncDisposableStack()
  const database = stack.use(await createTestDatabase())
  const mail = stack.use(await startMailSink())
  const service = stack.use(
    await startService({
      databaseUrl: database.url,
      redisUrl: backend.redisUrl,
      workers: [[...kinds, ...words]],
      env: {
        CHUNK_RECORDS: '50',
        SAVE_SECONDS: '1',
        SWEEP_SECONDS: '1',
        ...(hasMail
          ? { MAIL_URL: mail.url, MAIL_FROM: 'Plumbline <service@plumbline.test>', PUBLIC_URL }
          : {}),
        ...env,
      },
    }),
  )
  const owned = stack.move()
  return { service, mail, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/** Path and secret of the link in a message. */
export function pathOfLink(text: string): string {
  const [, path] = new RegExp(`${PUBLIC_URL}(/app/\\S+)`).exec(text) ?? []
  if (path === undefined) throw new Error(`no link in: ${text}`)
  return path
}
