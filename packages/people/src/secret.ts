import { createHash } from 'node:crypto'
import { randomBase62 } from '@plumbline/db/ids'

/** Characters of a secret, 238 bits. Source: ASVS 5.0, 7.2.3 requires 128 for a session. */
const CHARS = 40

/**
 * A secret for a cookie or link, with the digest that is stored: a random one needs no slow hash.
 */
export function newSecret(): { readonly secret: string; readonly digest: Buffer } {
  const secret = randomBase62(CHARS)
  return { secret, digest: digestOfSecret(secret) }
}

/** The stored digest of a secret. */
export function digestOfSecret(secret: string): Buffer {
  return createHash('sha256').update(secret, 'utf8').digest()
}

/** Whether text has the form of a secret, so that other text costs no query. */
export function isSecretForm(text: string): boolean {
  return text.length === CHARS && /^[0-9A-Za-z]+$/.test(text)
}
