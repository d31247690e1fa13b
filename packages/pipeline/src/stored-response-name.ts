import type { KeyMode } from '@plumbline/contract/plans'

/**
 * The associated data under which a stored response is encrypted, so that it cannot be read as that
 * of another call.
 */
export function storedResponseName(call: {
  readonly accountId: string
  readonly mode: KeyMode
  readonly path: string
  /** HMAC of the key. */
  readonly key: string
}): string {
  return `answer ${call.accountId} ${call.mode} ${call.path} ${call.key}`
}
