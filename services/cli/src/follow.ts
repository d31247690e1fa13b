import { setTimeout as pause } from 'node:timers/promises'
import type { Client } from '@plumbline/client/client'
import { RefusedError } from '@plumbline/client/refused'
import type { BatchView } from '@plumbline/contract/batch-view'
import { Interrupted, Refusal } from './refusal.ts'
import { socketFault } from './failure.ts'
import type { Shell } from './shell.ts'

/** Milliseconds for which the service may be unreachable before a batch is no longer followed. */
const OUTAGE_MS = 60_000
const ASK_AGAIN_MS = 1_000
/** Time-out of a request to cancel. */
const CANCEL_MS = 30_000
/** Milliseconds to wait for a canceled batch: purchases in flight are awaited. */
const CANCELING_MS = 150_000

/**
 * Follows a batch to its end, across short outages of the service; Ctrl-C cancels it.
 *
 * @throws Interrupted if it was canceled by Ctrl-C; Refusal if it ended without all results
 */
export async function followBatch(
  shell: Shell,
  client: Client,
  id: string,
  onProgress: (batch: BatchView) => void,
): Promise<BatchView> {
  try {
    return requireCompleted(await untilEnded(shell, client, id, onProgress))
  } catch (error) {
    if (!shell.stop.aborted) throw error
    throw await cancelBatch(client, id)
  }
}

async function untilEnded(
  shell: Shell,
  client: Client,
  id: string,
  onProgress: (batch: BatchView) => void,
): Promise<BatchView> {
  let answeredAt = performance.now()
  for (;;) {
    try {
      return await client.batches.wait(id, {
        signal: shell.stop,
        onProgress: (batch) => {
          answeredAt = performance.now()
          onProgress(batch)
        },
      })
    } catch (error) {
      const outage = socketFault(error) !== undefined || isUnavailable(error)
      const lasting = performance.now() - answeredAt > OUTAGE_MS
      if (!outage || lasting || shell.stop.aborted) throw error
      await pause(ASK_AGAIN_MS, undefined, { signal: shell.stop })
    }
  }
}

function isUnavailable(error: unknown): boolean {
  return error instanceof RefusedError && [429, 502, 503, 504].includes(error.status)
}

function requireCompleted(batch: BatchView): BatchView {
  const { id, status, error } = batch
  const why = error === null ? '' : `: ${error.message.replace(/\.$/, '')}`
  switch (status) {
    case 'completed':
      return batch
    case 'ready':
      throw new Refusal(
        `The batch ${id} waits to be started${why}; "batch start ${id}" goes on, "batch delete ${id}" drops it.`,
      )
    case 'canceled':
      throw new Refusal(`The batch ${id} was canceled; "batch results ${id}" gives what was done.`)
    case 'failed':
      throw new Refusal(`The batch ${id} failed${why}.`)
    case 'expired':
      throw new Refusal(`The batch ${id} has expired; its results are erased.`)
    default:
      throw new Error(`the batch ${id} stopped at ${status}`)
  }
}

async function cancelBatch(client: Client, id: string): Promise<Interrupted | Refusal> {
  let status = 'running'
  try {
    ;({ status } = await client.batches.cancel(id, { signal: AbortSignal.timeout(CANCEL_MS) }))
    const signal = AbortSignal.timeout(CANCELING_MS)
    const { credits } = await client.batches.wait(id, { signal })
    return new Interrupted(
      `Canceled ${id}, ${credits.used} credits used; "batch results ${id}" gives what was done.`,
    )
  } catch (error) {
    const fault = socketFault(error) ?? (error instanceof Error ? error.message : String(error))
    const state =
      status === 'canceling' ? 'is being canceled' : 'could not be canceled and may go on'
    return new Refusal(`${id} ${state} (${fault}); see "batch show ${id}".`)
  }
}
