import { readingOf, readUploadFields, type BatchOptions } from '../batch-options.ts'
import { Problem } from '@plumbline/contract/problem'
import { RETENTION_DAYS } from '@plumbline/contract/batch-request'
import { readPreferences } from '@plumbline/db/accounts'
import { sumFileBytes } from '@plumbline/db/batches/rows'
import { submitBatch } from '@plumbline/pipeline/submit'
import type { Request, Response } from 'express'
import { admit, refuseRevoked, showBalance } from '../access.ts'
import { mediaType } from '../body.ts'
import type { Context } from '../context.ts'
import { createDryRunGuard } from '../dry-run.ts'
import { callerOf, requestContextOf } from '../request-context.ts'
import { createStorageQuota, type IncomingFile } from '../storage-quota.ts'
import { refuseKeyShape } from '../idempotency-key.ts'
import { withIdempotency, type Run } from '../idempotency.ts'
import { createConcurrencyLimit } from '../concurrency-limit.ts'
import { refuseQuery } from '../query.ts'
import { readRecords, type BodyIntake } from '../records.ts'
import { jsonResponse, sendResponse, type JsonResponse } from '../response.ts'
import { readUpload } from '../upload.ts'
import type { Handler } from './handler.ts'
import { watchOwnBatch } from './watch-own-batch.ts'

/**
 * A received batch: its file in the scratch directory, and the data by which repeats are compared.
 */
interface ReceivedBatch {
  readonly path: string
  readonly fileName: string | null
  readonly format: 'records' | undefined
  readonly options: BatchOptions
  readonly sameAs: object
  discard(): Promise<void>
}

/**
 * `POST /v1/batches`: receives a batch, as a file or as JSON records (decision 31). An account may
 * have as many concurrent uploads as unfinished batches: more would fill disk and memory, and be
 * refused at the end.
 */
export function createBatch(ctx: Context): Handler {
  const { settings } = ctx
  const uploads = createConcurrencyLimit(
    settings.UNFINISHED_BATCHES_LIMIT,
    (count) => `The account is sending ${count} batches at this moment; send one after the other.`,
  )
  const space = createStorageQuota(settings.STORED_LIMIT_BYTES, (accountId) =>
    sumFileBytes(ctx.db, accountId),
  )
  return async (req, res) => {
    const { accountId } = await admit(ctx.access, req, res, {
      spends: true,
      mayBeFree: true,
      hasOwnLimit: true,
    })
    const guard = createDryRunGuard(requestContextOf(res))
    using stack = new DisposableStack()
    try {
      refuseQuery(req)
      stack.use(uploads.acquire(accountId))
      // A header, so that what is wrong with it is said before a large file is sent.
      refuseKeyShape(req)
      const file = stack.use(space.open(accountId))
      const { scratchDir } = ctx.pipeline
      const batch = await readBatch(req, res, { scratchDir, settings, file, guard })
      await submitOnce(ctx, req, res, batch, file)
    } catch (error) {
      throw guard.refusalOf(error)
    }
  }
}

async function submitOnce(
  ctx: Context,
  req: Request,
  res: Response,
  batch: ReceivedBatch,
  file: IncomingFile,
): Promise<void> {
  try {
    await refuseRevoked(ctx.access, req, res)
    const response = await withIdempotency(
      ctx.idempotency,
      req,
      res,
      () => batch.sameAs,
      async (run) => {
        const submitted = await submit(ctx, res, batch, run)
        file.stored()
        return submitted
      },
      { isFree: !batch.options.start },
    )
    await showBalance(ctx.access, res)
    sendResponse(res, response)
  } finally {
    // Does nothing where it was submitted: the store has taken the file over.
    await batch.discard()
  }
}

async function submit(
  ctx: Context,
  res: Response,
  batch: ReceivedBatch,
  run: Run,
): Promise<JsonResponse> {
  const { accountId, mode } = callerOf(res)
  const { options } = batch
  const { keep } = run
  let response: JsonResponse | undefined
  await submitBatch(
    ctx.pipeline,
    {
      accountId,
      mode,
      product: options.product,
      name: options.name,
      path: batch.path,
      fileName: batch.fileName,
      requested: readingOf(options, batch.format),
      defaultCountry: options.defaultCountry,
      autoStart: options.start,
      maxCredits: options.maxCredits,
      retentionDays: options.retentionDays ?? (await retentionOf(ctx, accountId)),
      explain: options.explain,
      chargeUnknown: ctx.settings.CHARGE_UNKNOWN,
    },
    async (tx, view) => {
      response = jsonResponse(202, view, `/v1/batches/${view.id}`)
      await keep?.(tx, response, view.id)
      await watchOwnBatch(ctx, res, tx, view.id)
    },
  )
  if (response === undefined) throw new Error('a batch was submitted without a response')
  return response
}

/** Days that a batch is kept by default: the account's setting. */
async function retentionOf({ db }: Context, accountId: string): Promise<number> {
  return (await readPreferences(db, accountId))?.retentionDays ?? RETENTION_DAYS.default
}

async function readBatch(req: Request, res: Response, intake: BodyIntake): Promise<ReceivedBatch> {
  switch (mediaType(req)) {
    case 'multipart/form-data':
      return await readFile(req, res, intake)
    case 'application/json': {
      const records = await readRecords(req, res, intake)
      const sameAs = ['records', records.options, records.digest]
      return { ...records, fileName: null, format: 'records', sameAs }
    }
    default:
      throw new Problem(
        'unsupported_media_type',
        'Send the batch as multipart/form-data with a file, or as application/json with records.',
      )
  }
}

async function readFile(req: Request, res: Response, intake: BodyIntake): Promise<ReceivedBatch> {
  const upload = await readUpload(req, res, intake)
  try {
    const options = readUploadFields(upload.fields)
    return {
      path: upload.path,
      fileName: upload.fileName,
      format: undefined,
      options,
      sameAs: [options, upload.digest],
      discard: () => upload.discard(),
    }
  } catch (error) {
    await upload.discard()
    throw error
  }
}
