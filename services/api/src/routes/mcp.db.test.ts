import { MCP_LIMITS } from '@plumbline/contract/mcp'
import { openApiHarness } from '@plumbline/testkit/api/harness'
import { PATIENT } from '@plumbline/testkit/patience'
import { expect, test } from 'vitest'

test('clients that leave while a tool waits take no places of those that come after them', async () => {
  await using api = await openApiHarness()
  const { live } = await api.account({ credits: 10 })
  const records = [{ email: 'ada@example.com' }]
  const { json } = await api.call('/v1/batches', {
    key: live,
    body: { product: 'email', records, start: false },
  })
  const { id: batchId } = Object.assign({ id: '' }, json)
  const send = async (
    name: string,
    input: object,
    signal: AbortSignal | null = null,
  ): Promise<number> => {
    const message = { method: 'tools/call', params: { name, arguments: input } }
    const answer = await fetch(`${api.url}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${live}`,
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }),
      signal,
    })
    await answer.text()
    return answer.status
  }
  // Nobody reads the batch here, so a tool that waits for it waits for as long as it may.
  const waiting = { batch_id: batchId, wait_seconds: MCP_LIMITS.waitSeconds }
  for (let sent = 0; sent < MCP_LIMITS.callsAtOnce; sent += 1) {
    const gone = new AbortController()
    const sending = send('get_batch', waiting, gone.signal)
    const reads = async (): Promise<number> =>
      (await api.log()).split('"route":"/v1/batches/:id"').length - 1
    const before = await reads()
    await expect.poll(reads, PATIENT).toBeGreaterThan(before)
    gone.abort()
    await expect(sending).rejects.toThrow()
  }
  await expect.poll(() => send('get_balance', {}), PATIENT).toBe(200)
})
