import { Problem } from '@plumbline/contract/problem'
import type { Request } from 'express'

/** Characters of an idempotency key at most. Source: decision 16. */
const KEY_MAX_CHARS = 255

/** The idempotency key of a request; undefined if there is none or it is malformed. */
export function idempotencyKeyOf(req: Request): string | undefined {
  const key = req.headers['idempotency-key']
  return typeof key === 'string' && key.length >= 1 && key.length <= KEY_MAX_CHARS ? key : undefined
}

/** Refuses a malformed `Idempotency-Key`, before anything is claimed. */
export function refuseKeyShape(req: Request): void {
  if (req.headers['idempotency-key'] === undefined || idempotencyKeyOf(req) !== undefined) return
  throw new Problem('bad_request', `Send an Idempotency-Key of 1 to ${KEY_MAX_CHARS} characters.`)
}
