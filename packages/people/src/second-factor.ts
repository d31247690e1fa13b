import { createHash } from 'node:crypto'
import type { Db, Tx } from '@plumbline/db/database'
import { randomBase62 } from '@plumbline/db/ids'
import { useRecoveryCode, useStep, type User } from '@plumbline/db/people/users'
import { Secret, TOTP } from 'otpauth'

/** Seconds of a time step. Source: RFC 6238 5.2. */
const PERIOD_SECONDS = 30
/** Accepted steps before and after the current one, since clocks differ. Source: RFC 6238 5.2. */
const WINDOW = 1
/** Bytes of a secret. Source: RFC 4226 4, at least 128 bits, 160 recommended. */
const SECRET_BYTES = 20
const RECOVERY_CODES = 10
/**
 * Characters of a recovery code, 119 bits: from 112 on a plain hash suffices. Source: ASVS 5.0,
 * 6.5.2.
 */
const RECOVERY_CHARS = 20

/** A new secret with its URI for an authenticator app. */
export function newFactor(
  email: string,
  issuer: string,
): { readonly secret: string; readonly uri: string } {
  const totp = totpOf(new Secret({ size: SECRET_BYTES }).base32, email, issuer)
  return { secret: totp.secret.base32, uri: totp.toString() }
}

/** The time step of a code; undefined if it is not valid for this secret. */
export function stepOf(secret: string, code: string, nowMs: number): number | undefined {
  const token = code.replaceAll(/[\s-]/g, '')
  if (!/^\d{6}$/.test(token)) return undefined
  const delta = totpOf(secret).validate({ token, window: WINDOW, timestamp: nowMs })
  return delta === null ? undefined : Math.floor(nowMs / 1_000 / PERIOD_SECONDS) + delta
}

/** New recovery codes, each with the digest that is stored. */
export function newRecoveryCodes(): readonly { readonly code: string; readonly digest: Buffer }[] {
  return Array.from({ length: RECOVERY_CODES }, () => {
    const code = randomBase62(RECOVERY_CHARS)
    return { code: code.replaceAll(/.{4}(?=.)/g, '$&-'), digest: recoveryDigest(code) }
  })
}

/**
 * Uses up a code of a user's second factor, from the app or for recovery; false if it is invalid or
 * was used before.
 */
export async function useFactor(
  db: Db | Tx,
  user: User,
  secret: string | undefined,
  code: string,
): Promise<boolean> {
  // A recovery code also works if the secret was encrypted under a lost key.
  const step = secret === undefined ? undefined : stepOf(secret, code, Date.now())
  if (step !== undefined) return await useStep(db, user.id, step)
  return await useRecoveryCode(db, user.id, recoveryDigest(code))
}

/** The stored digest of a recovery code: random text of this length needs no slow hash. */
function recoveryDigest(code: string): Buffer {
  return createHash('sha256').update(code.replaceAll(/[\s-]/g, ''), 'utf8').digest()
}

function totpOf(secret: string, label = 'user', issuer = 'Plumbline'): TOTP {
  return new TOTP({
    issuer,
    label,
    algorithm: 'SHA1',
    digits: 6,
    period: PERIOD_SECONDS,
    secret: Secret.fromBase32(secret),
  })
}
