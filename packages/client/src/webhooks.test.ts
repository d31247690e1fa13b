import { newSecret, signatureOf } from '@plumbline/webhooks/signature'
import { expect, test } from 'vitest'
import { verifyWebhook } from './webhooks.ts'

const BODY = '{"type":"webhook.test","timestamp":"2026-11-22T10:00:00.000Z","data":{"id":"ü"}}'
const ID = 'msg_4fT0mQe1x7Yb2KcD'

function signed(secrets: readonly string[], agoSeconds = 0, body = BODY): Record<string, string> {
  const timestamp = Math.floor(Date.now() / 1_000) - agoSeconds
  return {
    'webhook-id': ID,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatureOf(secrets, { id: ID, timestamp, body }),
  }
}

test('a message signed by the service is accepted, also while the secret is being rotated', async () => {
  const [old, fresh] = [newSecret(), newSecret()]
  expect(await verifyWebhook(old, signed([old]), BODY)).toMatchObject({ type: 'webhook.test' })
  expect(await verifyWebhook(old, signed([fresh, old]), BODY)).toMatchObject({ data: { id: 'ü' } })
})

test('another secret, another body, an old message and a missing header are refused', async () => {
  const secret = newSecret()
  await expect(verifyWebhook(newSecret(), signed([secret]), BODY)).rejects.toThrow('not signed')
  await expect(verifyWebhook(secret, signed([secret]), `${BODY} `)).rejects.toThrow('not signed')
  await expect(verifyWebhook(secret, signed([secret], 301), BODY)).rejects.toThrow('too old')
  await expect(verifyWebhook(secret, signed([secret], -302), BODY)).rejects.toThrow('too new')
  const { 'webhook-id': _, ...rest } = signed([secret])
  await expect(verifyWebhook(secret, rest, BODY)).rejects.toThrow('no header webhook-id')
})
