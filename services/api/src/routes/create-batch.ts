import { readUploadFields, type BatchOptions } from '../batch-options.ts'
import { Problem } from '@plumbline/contract/problem'
import { submitBatch } from '@plumbline/pipeline/submit'
import type { Request, Response } from 'express'
import { admit, refuseRevoked, showBalance } from '../access.ts'
import { mediaType } from '../body.ts'
import type { Context } from '../context.ts'
import { createDryRunGuard } from '../dry-run.ts'
import { callerOf, requestContextOf } from '../request-context.ts'
import { createStorageQuota, storedBytes, type IncomingFile } from '../storage-quota.ts'
import { refuseKeyShape } from '../idempotency-key.ts'
import { withIdempotency, type Run } from '../idempotency.ts'
import { createConcurrencyLimit } from '../concurrency-limit.ts'
import { refuseQuery } from '../query.ts'
import { readRecords, type BodyIntake } from '../records.ts'
import { jsonResponse, sendResponse, type JsonResponse } from '../response.ts'
import { readUpload } from '../upload.ts'
import type { Handler } from './handler.ts'

/** A list on its way in: its file in the scratch directory, and what says that two are the same. */
interface List {
  readonly path: string
  readonly fileName: string | null
  readonly format: 'records' | undefined
  readonly options: BatchOptions
  readonly sameAs: object
  discard(): Promise<void>
}

/**
 * `POST /v1/batches`: takes a list in, as a file or as JSON records (decision 31). An account may send as
 * many at once as it may have unfinished: more could only fill disk and memory, to be refused in the end.
 */
export function createBatch(ctx: Context): Handler {
  const { settings } = ctx
  const uploads = createConcurrencyLimit(settings.UNFINISHED_BATCHES_LIMIT, tooManyUploads)
  const space = createStorageQuota(settings.STORED_LIMIT_BYTES, (accountId) =>
    storedBytes(ctx.db, accountId),
  )
  return async (req, res) => {
    const { accountId } = await admit(ctx.access, req, res, { spends: true, mayBeFree: true })
    const guard = createDryRunGuard(requestContextOf(res))
    using stack = new DisposableStack()
    try {
      refuseQuery(req)
      stack.use(uploads.acquire(accountId))
      // A header, so that what is wrong with it is said before a large file is sent.
      refuseKeyShape(req)
      const file = stack.use(space.open(accountId))
      const { scratchDir } = ctx.pipeline
      const list = await readBatchFile(req, res, { scratchDir, settings, file, guard })
      await answer(ctx, req, res, list, file)
    } catch (error) {
      throw guard.refusalOf(error)
    }
  }
}

async function answer(
  ctx: Context,
  req: Request,
  res: Response,
  list: List,
  file: IncomingFile,
): Promise<void> {
  try {
    await refuseRevoked(ctx.access, req)
    const response = await withIdempotency(
      ctx.idempotency,
      req,
      res,
      () => list.sameAs,
      async (run) => {
        const submitted = await submit(ctx, res, list, run)
        file.stored()
        return submitted
      },
      !list.options.start,
    )
    await showBalance(ctx.access, res)
    sendResponse(res, response)
  } finally {
    // Taken over by the store where it was submitted; else nobody wants it.
    await list.discard()
  }
}

/** Seconds in which a list of some size has come. */
const RETRY_SECONDS = 5

function tooManyUploads(current: number): Problem {
  return new Problem(
    'too_many_requests',
    `The account is sending ${current} lists at this moment; send one after the other.`,
    { retryAfterSeconds: RETRY_SECONDS },
  )
}

async function submit(ctx: Context, res: Response, list: List, run: Run): Promise<JsonResponse> {
  const { accountId, mode } = callerOf(res)
  const { options } = list
  const { keep } = run
  let response: JsonResponse | undefined
  await submitBatch(
    ctx.pipeline,
    {
      accountId,
      mode,
      product: options.product,
      name: options.name,
      path: list.path,
      fileName: list.fileName,
      ...(list.format === undefined ? {} : { format: list.format }),
      ...(options.header === undefined ? {} : { header: options.header }),
      ...(options.mapping === undefined ? {} : { mapping: options.mapping }),
      defaultCountry: options.defaultCountry,
      autoStart: options.start,
      maxCredits: options.maxCredits,
      retentionDays: options.retentionDays,
      explain: options.explain,
      chargeUnknown: ctx.settings.CHARGE_UNKNOWN,
    },
    async (tx, view) => {
      response = jsonResponse(202, view, `/v1/batches/${view.id}`)
      await keep?.(tx, response, view.id)
    },
  )
  if (response === undefined) throw new Error('a submitted batch was not shown')
  return response
}

async function readBatchFile(req: Request, res: Response, intake: BodyIntake): Promise<List> {
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
        'Send the list as multipart/form-data with a file, or as application/json with records.',
      )
  }
}

async function readFile(req: Request, res: Response, intake: BodyIntake): Promise<List> {
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
