import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAccount } from '@plumbline/db/accounts'
import { inTransaction, type Db } from '@plumbline/db/database'
import { createWebhook, newWebhookId } from '@plumbline/db/webhooks/endpoints'
import { createInstallationKey } from '@plumbline/pipeline/installation-key'
import { startService } from '@plumbline/testkit/service'
import { encryptSecret } from '@plumbline/webhooks/secret-box'
import { newSecret } from '@plumbline/webhooks/signature'
import { bounded, type Figure } from './figure.ts'
import { onBothBackends } from './servers.ts'

const ENDPOINTS = 1_000
const UNRESPONSIVE = 100
const EVENTS_EACH = 30
const MOST_SECONDS = 60
const INSTALLATION_KEY = 'the key of a benchmark, which protects nothing'

/**
 * 30,000 events, thirty for each of a thousand endpoints of as many accounts, a hundred of which
 * accept connections and never respond: the time until the other endpoints have all their messages.
 */
export async function run(): Promise<readonly Figure[]> {
  return await onBothBackends(async ({ name: backend, stores }) => {
    await using service = await startService({
      ...stores,
      workers: [['batch']],
      env: { EGRESS_ALLOW: '127.0.0.1/32', INSTALLATION_KEY },
    })
    const wanted = (ENDPOINTS - UNRESPONSIVE) * EVENTS_EACH
    await using responsive = await startResponsive(wanted)
    await using unresponsive = await startUnresponsive()
    const accounts = await subscribeAll(service.db, responsive.url, unresponsive.url)
    const startedAt = performance.now()
    await addEvents(service.db, accounts)
    await responsive.all
    const seconds = (performance.now() - startedAt) / 1_000
    const head = { name: 'webhooks: 27,000 messages to responsive endpoints', backend, unit: 's' }
    return [bounded(head, seconds, MOST_SECONDS)]
  })
}

interface Receiver extends AsyncDisposable {
  readonly url: string
}

/**
 * A receiver that responds at once; `all` resolves when it has received this many distinct
 * messages.
 */
async function startResponsive(
  wanted: number,
): Promise<Receiver & { readonly all: Promise<void> }> {
  const { promise: all, resolve } = Promise.withResolvers<void>()
  const messageIds = new Set<string>()
  const server = createServer((req, res) => {
    req.resume()
    messageIds.add(`${String(req.headers['webhook-id'])} ${req.url}`)
    res.writeHead(204).end()
    if (messageIds.size === wanted) resolve()
  })
  return { ...(await listening(server)), all }
}

async function startUnresponsive(): Promise<Receiver> {
  return await listening(createServer(() => undefined))
}

async function listening(server: Server): Promise<Receiver> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // Safe because it listens on a port.
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

/** An endpoint for each account, the first of which never respond; returns their ids. */
async function subscribeAll(
  db: Db,
  responsive: string,
  unresponsive: string,
): Promise<readonly string[]> {
  const key = createInstallationKey(INSTALLATION_KEY)
  const accounts: string[] = []
  for (let no = 0; no < ENDPOINTS; no++) {
    const account = await createAccount(db, { email: `${no}@b.example`, plan: 'free' })
    const id = newWebhookId()
    const secret = encryptSecret(key, id, newSecret())
    const url = `${no < UNRESPONSIVE ? unresponsive : responsive}/${no}`
    await inTransaction(db, async (tx) => {
      const events = ['credits.exhausted'] as const
      await createWebhook(tx, { id, accountId: account.id, url, events, secret, most: 1 })
    })
    accounts.push(account.id)
  }
  return accounts
}

async function addEvents(db: Db, accounts: readonly string[]): Promise<void> {
  await db.pool.query(
    `select note_webhook_event(account, 'credits.exhausted', '')
     from unnest($1::text[]) account, generate_series(1, $2)`,
    [accounts, EVENTS_EACH],
  )
}
