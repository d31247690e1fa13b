import type { KeyView } from '@plumbline/contract/keys'
import type { KeyRecord } from './keys.ts'

/** A key as the API, the web app, webhooks and the command line show it. */
export function keyViewOf(record: KeyRecord): KeyView {
  return {
    id: record.id,
    mode: record.mode,
    prefix: record.prefix,
    last4: record.last4,
    created_at: record.createdAt.toISOString(),
    last_used_at: record.lastUsedAt?.toISOString() ?? null,
    revoked_at: record.revokedAt?.toISOString() ?? null,
  }
}
