import { readUploadFields, type BatchOptions } from '@plumbline/contract/batch-request'
import { Problem } from '@plumbline/contract/problem'
import { submitBatch } from '@plumbline/pipeline/submit'
import type { Request, Response } from 'express'
import { admit, refuseRevoked, showBalance } from '../admit.ts'
import { mediaType } from '../body.ts'
import type { Context } from '../context.ts'
import { callerOf } from '../exchange.ts'
import { refuseKeyShape } from '../idempotency-key.ts'
import { once, type Run } from '../once.ts'
import { createPlaces } from '../places.ts'
import { refuseQuery } from '../query.ts'
import { createRecordsReader } from '../records.ts'
import { jsonReply, sendReply, type Reply } from '../reply.ts'
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
  const readRecords = createRecordsReader({
    scratchDir: ctx.pipeline.scratchDir,
    limitBytes: ctx.settings.RECORDS_BODY_LIMIT_BYTES,
    records: ctx.settings.RECORDS_LIMIT,
  })
  const arrivals = createPlaces(ctx.settings.UNFINISHED_BATCHES_LIMIT, tooManyArrivals)
  return async (req, res) => {
    const { accountId } = await admit(ctx.gate, req, res, { spends: true })
    refuseQuery(req)
    using stack = new DisposableStack()
    stack.use(arrivals.enter(accountId))
    // A header, so that what is wrong with it is said before a large file is sent.
    refuseKeyShape(req)
    const list = await readList(ctx, req, res, readRecords)
    try {
      await refuseRevoked(ctx.gate, req)
      const reply = await once(
        ctx.once,
        req,
        res,
        () => list.sameAs,
        (run) => submit(ctx, res, list, run),
      )
      await showBalance(ctx.gate, res)
      sendReply(res, reply)
    } finally {
      // Taken over by the store where it was submitted; else nobody wants it.
      await list.discard()
    }
  }
}

/** Seconds in which a list of some size has come. */
const RETRY_SECONDS = 5

function tooManyArrivals(taken: number): Problem {
  return new Problem(
    'too_many_requests',
    `The account is sending ${taken} lists at this moment; send one after the other.`,
    { retryAfterSeconds: RETRY_SECONDS },
  )
}

async function submit(ctx: Context, res: Response, list: List, run: Run): Promise<Reply> {
  const { accountId, mode } = callerOf(res)
  const { options } = list
  const { keep } = run
  let reply: Reply | undefined
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
      reply = jsonReply(202, view, `/v1/batches/${view.id}`)
      await keep?.(tx, reply, view.id)
    },
  )
  if (reply === undefined) throw new Error('a submitted batch was not shown')
  return reply
}

async function readList(
  ctx: Context,
  req: Request,
  res: Response,
  readRecords: ReturnType<typeof createRecordsReader>,
): Promise<List> {
  switch (mediaType(req)) {
    case 'multipart/form-data':
      return await readFile(ctx, req, res)
    case 'application/json': {
      const records = await readRecords(req, res)
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

async function readFile(ctx: Context, req: Request, res: Response): Promise<List> {
  const upload = await readUpload(req, res, {
    scratchDir: ctx.pipeline.scratchDir,
    limitBytes: ctx.settings.UPLOAD_LIMIT_BYTES,
  })
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
