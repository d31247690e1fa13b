import { getServers } from 'node:dns'
import { createEgress } from '@plumbline/net/egress'
import { fetchBounded } from '@plumbline/net/http'
import { createResolver } from '@plumbline/net/resolver'
import { readWebhookBacklog } from '@plumbline/db/webhooks/deliveries'
import { runWebhooks } from '@plumbline/webhooks/run'
import type { WorkerContext } from './context.ts'

/** Sends webhook messages, through an egress guard of its own, until disposed. */
export function serveWebhooks({
  pipeline,
  settings,
  log,
  metrics,
}: WorkerContext): AsyncDisposable {
  const egress = createEgress({ allow: settings.EGRESS_ALLOW, log })
  const resolver = createResolver({ servers: settings.DNS_SERVERS ?? getServers(), egress })
  metrics.observed(
    'webhook_deliveries_pending',
    'Messages to endpoints that wait to be sent or sent again.',
    [],
    async () => [{ labels: {}, value: (await readWebhookBacklog(pipeline.db)).pending }],
  )
  metrics.observed(
    'webhook_oldest_due_seconds',
    'How long the oldest message that could be sent has waited.',
    [],
    async () => [{ labels: {}, value: (await readWebhookBacklog(pipeline.db)).oldestSeconds }],
  )
  return runWebhooks(pipeline, {
    send: (request) => fetchBounded({ ...request, egress, resolver }),
    timeoutMs: settings.WEBHOOK_TIMEOUT_SECONDS * 1_000,
    retrySeconds: settings.WEBHOOK_RETRY_SECONDS,
    failingDays: settings.WEBHOOK_FAILING_DAYS,
  })
}
