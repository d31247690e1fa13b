import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'

/** Rounds of hashing; the default of Postgres. Source: its documentation, `scram_iterations`. */
const ITERATIONS = 4_096
const SALT_BYTES = 16

/**
 * The SCRAM verifier that a server stores in place of a password, so that the password never
 * appears in a statement or log. Source: RFC 5803, as Postgres stores it in
 * `pg_authid.rolpassword`.
 */
export function scramVerifier(password: string, salt: Buffer = randomBytes(SALT_BYTES)): string {
  const salted = pbkdf2Sync(password.normalize('NFKC'), salt, ITERATIONS, 32, 'sha256')
  const clientKey = createHmac('sha256', salted).update('Client Key').digest()
  const storedKey = createHash('sha256').update(clientKey).digest('base64')
  const serverKey = createHmac('sha256', salted).update('Server Key').digest('base64')
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString('base64')}$${storedKey}:${serverKey}`
}
