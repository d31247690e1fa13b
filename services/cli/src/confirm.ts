import type { Client } from '@plumbline/client/client'
import type { BatchView } from '@plumbline/contract/batch-view'
import { previewText } from './commands/batch-preview.ts'
import { Interrupted, Refusal } from './refusal.ts'
import type { Shell } from './shell.ts'

/**
 * Shows what a waiting batch would cost, and starts it if the user confirms. A failed batch is
 * returned unchanged.
 *
 * @param maxCredits the most that it may cost; undefined for no limit
 * @throws Interrupted if the user declines or presses Ctrl-C; Refusal if it may not or cannot start
 */
export async function confirmStart(
  shell: Shell & Required<Pick<Shell, 'ask'>>,
  client: Client,
  id: string,
  maxCredits: number | undefined,
): Promise<BatchView> {
  const batch = await client.batches.wait(id, { signal: shell.stop })
  if (batch.status !== 'ready') return batch
  const waits = `The batch ${id} waits to be started; "batch start ${id}" goes on, "batch delete ${id}" drops it.`
  const preview = await client.batches.preview(id, { signal: shell.stop })
  shell.tell(`${previewText(preview, shell)}\n`)
  if (preview.cost === null) throw new Refusal(waits)
  const { credits } = preview.cost
  if (maxCredits !== undefined && credits > maxCredits) {
    throw new Refusal(
      `It may cost ${credits} credits, more than --max-credits ${maxCredits}. ${waits}`,
    )
  }
  if (!(await shell.ask(`Start it for at most ${credits} credits? [y/N] `))) {
    throw new Interrupted(`Nothing was spent. ${waits}`)
  }
  return await client.batches.start(id, { signal: shell.stop })
}
