import { inflateRawSync } from 'node:zlib'
import { openApiHarness } from '@plumbline/testkit/api/harness'
import { expect, test } from 'vitest'

/** The text of a file in a ZIP file, unpacked from its local header. Source: APPNOTE 4.3.7. */
function textIn(zip: Buffer, name: string): string {
  const at = zip.indexOf(name)
  const extraBytes = zip.readUInt16LE(at - 2)
  return inflateRawSync(zip.subarray(at + name.length + extraBytes)).toString()
}

test('an export has stored responses, but not those that hold the secret of an endpoint', async () => {
  await using api = await openApiHarness()
  const { live } = await api.account({ credits: 10 })
  const made = await api.call('/v1/webhooks', {
    key: live,
    body: { url: 'https://hooks.example/a', events: ['batch.completed'] },
    headers: { 'idempotency-key': 'endpoint-1' },
  })
  expect([made.status, made.text]).toEqual([201, expect.stringContaining('whsec_')])
  await api.call('/v1/email', {
    key: live,
    body: { email: 'ada@example.com' },
    headers: { 'idempotency-key': 'call-1' },
  })
  const response = await fetch(`${api.url}/v1/export`, {
    headers: { authorization: `Bearer ${live}` },
  })
  const answers = textIn(Buffer.from(await response.arrayBuffer()), 'answers.ndjson')
  expect(answers).toContain('"path":"/v1/email"')
  expect(answers).not.toContain('whsec_')
  expect(answers).not.toContain('/v1/webhooks')
})
