import { getServers } from 'node:dns'
import { createEgress } from '@plumbline/net/egress'
import { fetchBounded } from '@plumbline/net/http'
import { createResolver } from '@plumbline/net/resolver'
import { readWebhookBacklog, type WebhookBacklog } from '@plumbline/db/webhooks/backlog'
import type { Metrics } from '@plumbline/runtime/metrics'
import { LOST_AFTER_MS } from '@plumbline/webhooks/deliver'
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
  const timeoutMs = settings.WEBHOOK_TIMEOUT_SECONDS * 1_000
  observeBacklog(metrics, () => readWebhookBacklog(pipeline.db, timeoutMs + LOST_AFTER_MS))
  return runWebhooks(pipeline, {
    send: (request) => fetchBounded({ ...request, egress, resolver }),
    timeoutMs,
    retrySeconds: settings.WEBHOOK_RETRY_SECONDS,
    failingDays: settings.WEBHOOK_FAILING_DAYS,
  })
}

/** The gauges of what is due; one reading serves all of them in a scrape. */
function observeBacklog(metrics: Metrics, read: () => Promise<WebhookBacklog>): void {
  let reading: Promise<WebhookBacklog> | undefined
  const gauge = (name: string, help: string, of: (backlog: WebhookBacklog) => number): void =>
    metrics.observed(name, help, [], async () => {
      reading ??= read().finally(() => (reading = undefined))
      return [{ labels: {}, value: of(await reading) }]
    })
  gauge('webhook_deliveries_due', 'Messages to endpoints that could be sent now.', ({ due }) => due)
  gauge(
    'webhook_oldest_due_seconds',
    'How long the oldest message that could be sent has waited.',
    ({ oldestSeconds }) => oldestSeconds,
  )
  gauge(
    'webhook_unserved_seconds',
    'How long the account that waits longest has had messages that could be sent to endpoints that work, with none under way.',
    ({ unservedSeconds }) => unservedSeconds,
  )
}
