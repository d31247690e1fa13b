import { createWriteStream, openAsBlob } from 'node:fs'
import { once } from 'node:events'
import type { BatchView } from '@plumbline/contract/batch-view'
import { setTimeout as wait } from 'node:timers/promises'
import type { Account, TestService } from '@plumbline/testkit/service'

/** Writes a CSV file of `count` distinct contacts. */
export async function writeContacts(path: string, count: number): Promise<void> {
  const file = createWriteStream(path)
  file.write('name,email,company\n')
  for (let at = 0; at < count; at += 1000) {
    let text = ''
    for (let row = at; row < Math.min(count, at + 1000); row++) {
      text += `Person ${row},person.${row}@company${row % 5000}.example,Company ${row % 5000}\n`
    }
    if (!file.write(text)) await once(file, 'drain')
  }
  file.end()
  await once(file, 'close')
}

/** Uploads a file as a client would, and returns the batch. */
export async function uploadBatch(
  service: TestService,
  account: Account,
  path: string,
  product: string,
): Promise<BatchView> {
  const form = new FormData()
  form.set('product', product)
  form.set('file', await openAsBlob(path, { type: 'text/csv' }), 'list.csv')
  const response = await service.call(account.liveKey, 'POST', '/v1/batches', form)
  if (response.status !== 202) {
    throw new Error(`upload answered ${response.status}: ${await response.text()}`)
  }
  return await viewOf(response)
}

/** Waits until a batch has ended. */
export async function waitForEnd(
  service: TestService,
  account: Account,
  id: string,
  everyMs = 20,
): Promise<BatchView> {
  for (;;) {
    const view = await viewOf(await service.call(account.liveKey, 'GET', `/v1/batches/${id}`))
    if (['completed', 'failed', 'canceled', 'ready'].includes(view.status)) return view
    await wait(everyMs)
  }
}

/** Waits until a batch is completed. @throws if it ends otherwise, or without this many rows */
export async function waitForRows(
  service: TestService,
  account: Account,
  id: string,
  rowCount: number,
  everyMs?: number,
): Promise<BatchView> {
  const batch = await waitForEnd(service, account, id, everyMs)
  if (batch.status === 'completed' && batch.rows.done === rowCount) return batch
  throw new Error(`a batch ended as ${batch.status} with ${batch.rows.done} of ${rowCount} rows`)
}

/** Safe because the service answers batches in the shape of its contract. */
async function viewOf(response: Response): Promise<BatchView> {
  return (await response.json()) as BatchView
}
