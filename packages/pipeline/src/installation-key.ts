import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  randomBytes,
  type KeyObject,
} from 'node:crypto'

/**
 * Operations with the installation's key, for subjects that a shared store must not reveal
 * (decision 47).
 */
export interface InstallationKey {
  /** Identifies the key without revealing anything about it. */
  readonly fingerprint: string
  /** HMAC-SHA-256 in base64url, 43 characters. */
  digest(text: string): string
  /** Encrypts a value, bound to the name it is stored under. */
  encrypt(value: string, name: string): string
  /** The plaintext of `encrypt`; undefined if the text was not encrypted with this key and name. */
  decrypt(text: string, name: string): string | undefined
}

/** AES-256-GCM, with the sizes of NIST SP 800-38D. */
const CIPHER = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Derives one key for each operation (HKDF, RFC 5869), so that none reveals another. */
export function createInstallationKey(secret: string): InstallationKey {
  const keyFor = (use: string): Buffer => Buffer.from(hkdfSync('sha256', secret, '', use, 32))
  // Node takes a key object in a fifth of the time that it takes bytes.
  const names = createSecretKey(keyFor('names'))
  const values = createSecretKey(keyFor('values'))
  // A key for each name, since one key must not see more than 2^32 random nonces.
  const valueKey = (name: string): KeyObject =>
    createSecretKey(createHmac('sha256', values).update(name).digest())
  return {
    fingerprint: keyFor('fingerprint').toString('hex', 0, 16),
    digest: (text) => createHmac('sha256', names).update(text).digest('base64url'),
    encrypt(value, name) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(CIPHER, valueKey(name), nonce)
      const hidden = [cipher.update(value, 'utf8'), cipher.final()]
      return Buffer.concat([nonce, cipher.getAuthTag(), ...hidden]).toString('base64url')
    },
    decrypt(text, name) {
      const bytes = Buffer.from(text, 'base64url')
      const start = NONCE_BYTES + TAG_BYTES
      if (bytes.length < start) return undefined
      const decipher = createDecipheriv(CIPHER, valueKey(name), bytes.subarray(0, NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      })
      decipher.setAuthTag(bytes.subarray(NONCE_BYTES, start))
      try {
        return decipher.update(bytes.subarray(start), undefined, 'utf8') + decipher.final('utf8')
      } catch {
        return undefined
      }
    },
  }
}
