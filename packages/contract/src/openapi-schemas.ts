import { z } from 'zod'
import { accountView } from './account.ts'
import { batchChange } from './batch-change.ts'
import { batchKnown } from './known-verdicts.ts'
import { batchPreview } from './batch-preview.ts'
import { batchSample } from './batch-sample.ts'
import { batchBody, MAPPED_FIELDS, uploadFields } from './batch-request.ts'
import { recheckBody, rescoreBody } from './batch-origin.ts'
import { batchPage, batchView } from './batch-view.ts'
import { comparison } from './comparison.ts'
import { eraseRequest, erasurePage, erasureView } from './erasure.ts'
import { explainShape } from './explain.ts'
import { jsonSchemaOf } from './json-schema.ts'
import { keyList } from './keys.ts'
import { ledgerPage } from './ledger.ts'
import { pascal, ref, type Part } from './openapi-parts.ts'
import { offersView } from './plans.ts'
import { lookupView } from './lookup.ts'
import { PROBLEMS } from './problem.ts'
import { PRODUCTS } from './products.ts'
import { REQUESTS } from './requests.ts'
import { RESULTS } from './results.ts'
import {
  webhookChange,
  webhookDeliveries,
  webhookDelivery,
  webhookList,
  webhookReplay,
  webhookReplayed,
  webhookRequest,
  webhookView,
  webhookWithSecret,
} from './webhook.ts'
import { usageView } from './usage.ts'

/** Every shape as an OpenAPI component. */
export function schemas(): Part {
  const problem = z.strictObject({
    error: z.enum(Object.values(PROBLEMS).map(({ error }) => error)),
    message: z.string().meta({ description: 'What to do, in one sentence.' }),
  })
  return {
    ...Object.fromEntries(
      PRODUCTS.flatMap((product) => [
        [`${pascal(product)}Request`, jsonSchemaOf(REQUESTS[product])],
        [`${pascal(product)}Result`, explained(jsonSchemaOf(RESULTS[product]))],
      ]),
    ),
    EraseRequest: jsonSchemaOf(eraseRequest),
    Erasure: jsonSchemaOf(erasureView),
    ErasurePage: jsonSchemaOf(erasurePage),
    Explain: jsonSchemaOf(explainShape),
    Account: jsonSchemaOf(accountView),
    Usage: jsonSchemaOf(usageView),
    LedgerPage: jsonSchemaOf(ledgerPage),
    KeyList: jsonSchemaOf(keyList),
    Offers: jsonSchemaOf(offersView),
    Batch: jsonSchemaOf(batchView),
    BatchPreview: jsonSchemaOf(batchPreview),
    BatchChange: jsonSchemaOf(batchChange),
    BatchSample: jsonSchemaOf(batchSample),
    BatchKnown: jsonSchemaOf(batchKnown),
    BatchPage: jsonSchemaOf(batchPage),
    BatchComparison: jsonSchemaOf(comparison),
    BatchRecheck: jsonSchemaOf(recheckBody),
    BatchRescore: jsonSchemaOf(rescoreBody),
    BatchRecords: jsonSchemaOf(batchBody),
    BatchUpload: uploadSchema(),
    Lookup: jsonSchemaOf(lookupView),
    ...webhookSchemas(),
    Problem: jsonSchemaOf(problem),
    Status: { type: 'object', properties: { status: { type: 'string' } }, required: ['status'] },
    OpenApi: { type: 'object' },
  }
}

function webhookSchemas(): Part {
  return {
    Webhook: jsonSchemaOf(webhookView),
    WebhookWithSecret: jsonSchemaOf(webhookWithSecret),
    WebhookList: jsonSchemaOf(webhookList),
    WebhookRequest: jsonSchemaOf(webhookRequest),
    WebhookChange: jsonSchemaOf(webhookChange),
    WebhookReplay: jsonSchemaOf(webhookReplay),
    WebhookReplayed: jsonSchemaOf(webhookReplayed),
    WebhookDelivery: jsonSchemaOf(webhookDelivery),
    WebhookDeliveries: jsonSchemaOf(webhookDeliveries),
  }
}

function explained(schema: Part): Part {
  return {
    ...schema,
    properties: { ...asPart(schema['properties']), explain: ref('schemas', 'Explain') },
  }
}

/** The form of an upload: its fields are text, and `mapping` holds JSON. */
function uploadSchema(): Part {
  const { properties, ...rest } = jsonSchemaOf(uploadFields)
  const file = {
    type: 'string',
    contentMediaType: 'application/octet-stream',
    description: 'csv, tsv, txt, ndjson, xlsx, xlsm or ods, each also in a gzip or ZIP file.',
  }
  const mapping = {
    type: 'string',
    contentMediaType: 'application/json',
    description: `JSON object from ${MAPPED_FIELDS.join(', ')} to a header name or a 0-based column number.`,
  }
  return {
    ...rest,
    properties: { file, ...asPart(properties), mapping },
    required: ['file', 'product'],
  }
}

/** A schema's `properties` is an object of schemas. */
function asPart(value: unknown): Part {
  return value as Part
}
