import { createHmac, randomBytes } from 'node:crypto'

/** Bytes of a secret: Standard Webhooks 1.0 asks for 24 to 64. */
const SECRET_BYTES = 32
const SECRET_PREFIX = 'whsec_'

/** A new secret of an endpoint, such as `whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD...`. */
export function newSecret(): string {
  return `${SECRET_PREFIX}${randomBytes(SECRET_BYTES).toString('base64')}`
}

/**
 * The signed parts of a message: its id, the attempt's time in seconds since 1970, and the body
 * byte for byte.
 */
export interface SignedMessage {
  readonly id: string
  readonly timestamp: number
  readonly body: string
}

/**
 * The header `webhook-signature`: one signature for each secret, separated by spaces. Source:
 * Standard Webhooks 1.0, "Symmetric signature scheme".
 */
export function signatureOf(
  secrets: readonly string[],
  { id, timestamp, body }: SignedMessage,
): string {
  return secrets
    .map((secret) => {
      const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64')
      const digest = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
      return `v1,${digest}`
    })
    .join(' ')
}
