/**
 * The status of a registration as RFC 8056 spells it, in lower case with blanks:
 * `clientTransferProhibited https://icann.org/epp#...` and `CLIENT-TRANSFER-PROHIBITED` alike.
 */
export function plainStatus(status: string): string {
  return status
    .replace(/(?<!\s)\s*\(?https?:.*$/, '')
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .replace(/[-_\s]+/g, ' ')
    .trim()
    .toLowerCase()
}

/** What plain statuses show. Source: RFC 8056 2; SIDN and EURid call redemption `quarantine`. */
export const STATUS_PATTERNS = {
  hold: /^(?:client|server) hold\b/,
  redemption: /redemption|quarantine/,
  pending_delete: /^pending delete/,
} as const

/**
 * Whether a name with this status can no longer be used: its holder may redeem it, or it is about to be
 * deleted. A name in its grace period after expiry has no such status. Source: RFC 3915 3.1.
 */
export function isLapsed(status: string): boolean {
  return STATUS_PATTERNS.redemption.test(status) || STATUS_PATTERNS.pending_delete.test(status)
}
