import type { Pipeline } from '@plumbline/pipeline/pipeline'
import { startDelivery, type DeliverTools } from './deliver.ts'
import { runMessages } from './messages.ts'

/** Creates messages from events and sends them, until disposed. */
export function runWebhooks(
  pipeline: Pipeline,
  options: Pick<DeliverTools, 'send' | 'timeoutMs' | 'retrySeconds' | 'failingDays'>,
): AsyncDisposable {
  const { db, log, installationKey } = pipeline
  const stop = new AbortController()
  const delivery = startDelivery({ ...options, db, log, installationKey })
  const messages = runMessages(pipeline, delivery.wake, stop.signal)
  return {
    async [Symbol.asyncDispose]() {
      stop.abort()
      await messages
      await delivery[Symbol.asyncDispose]()
    },
  }
}
