import { z } from 'zod'
import { accountView } from './account.ts'
import { batchChange } from './batch-change.ts'
import { batchPreview } from './batch-preview.ts'
import { batchSample } from './batch-sample.ts'
import { batchBody, MAPPED_FIELDS, uploadFields } from './batch-request.ts'
import { recheckBody, rescoreBody } from './batch-origin.ts'
import { batchPage, batchView } from './batch-view.ts'
import { comparison } from './comparison.ts'
import { explainShape } from './explain.ts'
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

/** Every shape, as components. */
export function schemas(): Part {
  const problem = z.strictObject({
    error: z.enum(Object.values(PROBLEMS).map(({ error }) => error)),
    message: z.string().meta({ description: 'What to do, in one sentence.' }),
  })
  return {
    ...Object.fromEntries(
      PRODUCTS.flatMap((product) => [
        [`${pascal(product)}Request`, jsonSchema(REQUESTS[product])],
        [`${pascal(product)}Result`, explained(jsonSchema(RESULTS[product]))],
      ]),
    ),
    Explain: jsonSchema(explainShape),
    Account: jsonSchema(accountView),
    Usage: jsonSchema(usageView),
    LedgerPage: jsonSchema(ledgerPage),
    KeyList: jsonSchema(keyList),
    Offers: jsonSchema(offersView),
    Batch: jsonSchema(batchView),
    BatchPreview: jsonSchema(batchPreview),
    BatchChange: jsonSchema(batchChange),
    BatchSample: jsonSchema(batchSample),
    BatchPage: jsonSchema(batchPage),
    BatchComparison: jsonSchema(comparison),
    BatchRecheck: jsonSchema(recheckBody),
    BatchRescore: jsonSchema(rescoreBody),
    BatchRecords: jsonSchema(batchBody),
    BatchUpload: uploadSchema(),
    Lookup: jsonSchema(lookupView),
    ...webhookSchemas(),
    Problem: jsonSchema(problem),
    Status: { type: 'object', properties: { status: { type: 'string' } }, required: ['status'] },
    OpenApi: { type: 'object' },
  }
}

function webhookSchemas(): Part {
  return {
    Webhook: jsonSchema(webhookView),
    WebhookWithSecret: jsonSchema(webhookWithSecret),
    WebhookList: jsonSchema(webhookList),
    WebhookRequest: jsonSchema(webhookRequest),
    WebhookChange: jsonSchema(webhookChange),
    WebhookReplay: jsonSchema(webhookReplay),
    WebhookReplayed: jsonSchema(webhookReplayed),
    WebhookDelivery: jsonSchema(webhookDelivery),
    WebhookDeliveries: jsonSchema(webhookDeliveries),
  }
}

function explained(schema: Part): Part {
  return {
    ...schema,
    properties: { ...asPart(schema['properties']), explain: ref('schemas', 'Explain') },
  }
}

/** A form's fields are text; `mapping` is JSON in one of them. */
function uploadSchema(): Part {
  const { properties, ...rest } = jsonSchema(uploadFields)
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

function jsonSchema(shape: z.ZodType): Part {
  const { $schema: _, ...schema } = z.toJSONSchema(shape, { io: 'input', target: 'draft-2020-12' })
  return schema
}

/** A schema's `properties` is an object of schemas. */
function asPart(value: unknown): Part {
  return value as Part
}
