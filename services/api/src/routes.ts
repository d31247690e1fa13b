import type { RequestListener } from 'node:http'
import { PRODUCTS } from '@plumbline/contract/products'
import { createBatchReader } from '@plumbline/pipeline/read'
import { appRoutes } from './app-api/mount.ts'
import type { Context } from './context.ts'
import { cancelBatch, pauseBatch, resumeBatch, startBatch } from './routes/change-batch.ts'
import { compareBatches } from './routes/compare-batches.ts'
import { createBatch } from './routes/create-batch.ts'
import { deleteBatch } from './routes/delete-batch.ts'
import { recheck, rescore } from './routes/derive-batch.ts'
import { erase, listErasures, readErasure } from './routes/erase.ts'
import { exportAccount } from './routes/export-account.ts'
import type { Route } from './routes/handler.ts'
import { listBatches } from './routes/list-batches.ts'
import { listKeys } from './routes/list-keys.ts'
import { listPlans } from './routes/list-plans.ts'
import { lookUp } from './routes/look-up.ts'
import { handleMcp } from './routes/mcp.ts'
import { patchBatch } from './routes/patch-batch.ts'
import { previewBatch } from './routes/preview-batch.ts'
import { readKnown } from './routes/read-known.ts'
import { readLookup } from './routes/lookups.ts'
import { readAccount } from './routes/read-account.ts'
import { readBatch } from './routes/read-batch.ts'
import { readLedger } from './routes/read-ledger.ts'
import { readOpenApi } from './routes/read-openapi.ts'
import { readHealth, readReadiness } from './routes/probes.ts'
import { createDownloads, readRefused, readResults } from './routes/read-results.ts'
import { readUsage } from './routes/read-usage.ts'
import { readSample, sampleBatch } from './routes/sample-batch.ts'
import { watchBatch } from './routes/watch-batch.ts'
import {
  listDeliveries,
  replayDelivery,
  replayWebhook,
  testWebhook,
} from './routes/webhook-deliveries.ts'
import {
  changeWebhook,
  createWebhook,
  deleteWebhook,
  listWebhooks,
  readWebhook,
  rotateWebhook,
} from './routes/webhooks.ts'

/**
 * Every path of the service except the pages of `/docs` and of the app; the most frequent ones
 * first.
 *
 * @param app the app itself, which tools call
 */
export function routesOf(ctx: Context, app: RequestListener): readonly Route[] {
  const downloads = createDownloads(ctx)
  const read = createBatchReader(ctx.pipeline)
  return [
    ...PRODUCTS.map((product) => ({ path: `/v1/${product}`, post: lookUp(ctx, product) })),
    { path: '/v1/lookups/:id', get: readLookup(ctx) },
    { path: '/v1/account', get: readAccount(ctx) },
    { path: '/v1/usage', get: readUsage(ctx) },
    { path: '/v1/ledger', get: readLedger(ctx) },
    { path: '/v1/keys', get: listKeys(ctx) },
    { path: '/v1/plans', get: listPlans(ctx) },
    { path: '/v1/batches', get: listBatches(ctx), post: createBatch(ctx) },
    {
      path: '/v1/batches/:id',
      get: readBatch(ctx, read),
      patch: patchBatch(ctx),
      delete: deleteBatch(ctx),
    },
    { path: '/v1/batches/:id/preview', get: previewBatch(ctx) },
    { path: '/v1/batches/:id/sample', get: readSample(ctx), post: sampleBatch(ctx, downloads) },
    { path: '/v1/batches/:id/known', get: readKnown(ctx, downloads) },
    { path: '/v1/batches/:id/start', post: startBatch(ctx) },
    { path: '/v1/batches/:id/cancel', post: cancelBatch(ctx) },
    { path: '/v1/batches/:id/pause', post: pauseBatch(ctx) },
    { path: '/v1/batches/:id/resume', post: resumeBatch(ctx) },
    { path: '/v1/batches/:id/compare', get: compareBatches(ctx, downloads) },
    { path: '/v1/batches/:id/recheck', post: recheck(ctx) },
    { path: '/v1/batches/:id/rescore', post: rescore(ctx) },
    { path: '/v1/batches/:id/events', get: watchBatch(ctx, read) },
    { path: '/v1/batches/:id/results', get: readResults(ctx, downloads) },
    { path: '/v1/batches/:id/refused', get: readRefused(ctx, downloads) },
    { path: '/v1/webhooks', get: listWebhooks(ctx), post: createWebhook(ctx) },
    {
      path: '/v1/webhooks/:id',
      get: readWebhook(ctx),
      patch: changeWebhook(ctx),
      delete: deleteWebhook(ctx),
    },
    { path: '/v1/webhooks/:id/rotate', post: rotateWebhook(ctx) },
    { path: '/v1/webhooks/:id/test', post: testWebhook(ctx) },
    { path: '/v1/webhooks/:id/replay', post: replayWebhook(ctx) },
    { path: '/v1/webhooks/:id/deliveries', get: listDeliveries(ctx) },
    { path: '/v1/webhooks/:id/deliveries/:delivery/replay', post: replayDelivery(ctx) },
    { path: '/v1/erase', get: listErasures(ctx), post: erase(ctx) },
    { path: '/v1/erase/:id', get: readErasure(ctx) },
    { path: '/v1/export', get: exportAccount(ctx, downloads) },
    { path: '/mcp', post: handleMcp(ctx, app) },
    ...appRoutes({ ctx, people: ctx.people }),
    { path: '/healthz', get: readHealth() },
    { path: '/readyz', get: readReadiness(ctx) },
    { path: '/openapi.json', get: readOpenApi(ctx) },
  ]
}
