// Everything that `@plumbline/client` exports.

export type {
  BatchCalls,
  BatchFile,
  BatchPath,
  BatchRecords,
  BatchSettings,
  WaitOptions,
} from './batches.ts'
export type { Results, ResultsOptions } from './batch-results.ts'
export { createClient } from './client.ts'
export type { Client, Lookup } from './client.ts'
export type { CallOptions, ConnectionOptions } from './connection.ts'
export type { ResultRow, RowsOptions } from './rows.ts'
export {
  BadRequestError,
  ConflictError,
  ConnectionError,
  ForbiddenError,
  NotFoundError,
  PaymentRequiredError,
  RefusedError,
  TooManyRequestsError,
  UnauthorizedError,
  UnavailableError,
} from './refused.ts'
export { verifyWebhook } from './webhooks.ts'
export type { WebhookCalls, WebhookHeaders } from './webhooks.ts'
