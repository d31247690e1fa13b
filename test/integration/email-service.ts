import { formOf, submitBatch } from '@plumbline/testkit/batches'
import type { Caller } from '@plumbline/testkit/batches'
import type { Backend } from '@plumbline/testkit/backends'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { startService } from '@plumbline/testkit/service'
import type { TestService } from '@plumbline/testkit/service'
import { spawnSimnet } from '../simnet/child.ts'
import type { SimnetProcess } from '../simnet/child.ts'

const QUICK = { CHUNK_RECORDS: '100', LEASE_SECONDS: '3', SAVE_SECONDS: '1', SWEEP_SECONDS: '1' }
/** The installation key of the tests. */
export const INSTALLATION_KEY = 'the key of a test, which hides nothing'

/** Email workers, and mail servers that log all commands. */
export interface EmailService extends AsyncDisposable {
  readonly service: TestService
  readonly simnet: SimnetProcess
  readonly caller: Caller
}

/**
 * Starts email workers, a batch worker, and mail servers whose domains begin with `prefix`.
 *
 * @param rttMs simulated round-trip time to the mail servers, in ms
 */
export async function openEmailService(
  { redisUrl }: Backend,
  prefix: string,
  emailWorkers: number,
  env: Readonly<Record<string, string>>,
  rttMs = 0,
): Promise<EmailService> {
  await using stack = new AsyncDisposableStack()
  const simnet = stack.use(
    await spawnSimnet({
      rttMs,
      countsRecipients: true,
      bulkDomains: { prefix, count: 201, kinds: ['no-tls'] },
    }),
  )
  const database = stack.use(await createTestDatabase())
  const service = stack.use(
    await startService({
      databaseUrl: database.url,
      redisUrl,
      engines: 'real',
      workers: [...Array.from({ length: emailWorkers }, () => ['email']), ['batch']],
      env: { ...QUICK, INSTALLATION_KEY, ...simnet.settings, ...env },
    }),
  )
  const account = await service.account({ credits: 20_000 })
  const owned = stack.move()
  return {
    service,
    simnet,
    caller: { service, account, key: account.liveKey },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** This many addresses of one domain. */
export function addressesAt(domain: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, at) => `user${at}@${domain}.example`)
}

/** Uploads a batch of addresses; returns its id. */
export async function submit(caller: Caller, addresses: readonly string[]): Promise<string> {
  const form = formOf({ product: 'email' }, `email\n${addresses.join('\n')}\n`)
  return (await submitBatch(caller, form)).id
}
