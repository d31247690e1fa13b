import type { AccountTables } from './tables/accounts.ts'
import type { AuditTables } from './tables/audit.ts'
import type { BatchTables } from './tables/batches.ts'
import type { CreditTables } from './tables/credits.ts'
import type { ErasureTables } from './tables/erasures.ts'
import type { IdempotencyTables } from './tables/idempotency.ts'
import type { PeopleTables } from './tables/people.ts'
import type { ScoreTables } from './tables/score-weights.ts'
import type { WebhookTables } from './tables/webhooks.ts'

/** Every table, for kysely; each area declares its own in `tables/`. */
export interface Tables
  extends
    AccountTables,
    AuditTables,
    CreditTables,
    BatchTables,
    ErasureTables,
    IdempotencyTables,
    PeopleTables,
    ScoreTables,
    WebhookTables {}
