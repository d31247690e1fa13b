import { LEDGER_PAGE, type LedgerEntry, type LedgerPage } from '@plumbline/contract/ledger'
import { Problem } from '@plumbline/contract/problem'
import { readLedger as sliceOf, type LedgerPosition } from '@plumbline/metering/ledger'
import type { Request, Response } from 'express'
import { Readable } from 'node:stream'
import { admit, showBalance } from '../access.ts'
import { createConcurrencyLimit } from '../concurrency-limit.ts'
import type { Context } from '../context.ts'
import { csvLine } from '../csv-line.ts'
import { readQuery } from '../query.ts'
import { headersWith } from '../response.ts'
import { sendStream } from '../send-stream.ts'
import type { Handler } from './handler.ts'
import { sendView } from './send-view.ts'

/**
 * `GET /v1/ledger`: the moves of an account's credits, newest first, with the balance after each: a
 * page as JSON, or all entries from there on as CSV, read from the database as fast as the client
 * reads.
 */
export function readLedger(ctx: Context): Handler {
  const downloads = createConcurrencyLimit(
    ctx.settings.DOWNLOADS_LIMIT,
    (count) => `The account has ${count} downloads of its ledger under way; wait until one ends.`,
  )
  return async (req, res) => {
    const { accountId } = await admit(ctx.access, req, res, { spends: false })
    const query = readQuery(req, ['limit', 'cursor', 'format'])
    const format = query.oneOf('format', ['json', 'csv'], 'json')
    const limit = query.limit(LEDGER_PAGE)
    const place = placeOf(ctx, accountId, query.text('cursor', /^[A-Za-z0-9_-]{1,200}$/))
    if (format === 'csv') {
      using _ = downloads.acquire(accountId)
      await sendCsv(ctx, req, res, { accountId, place })
      return
    }
    const { entries, next } = await sliceOf(ctx.db, accountId, { limit, place })
    const page: LedgerPage = {
      data: [...entries],
      next_cursor: next === null ? null : cursorOf(ctx, accountId, next),
    }
    await sendView(ctx, res, page)
  }
}

/**
 * The cursor of the next page; encrypted, since entries are numbered over all accounts, and its
 * balance is trusted.
 */
function cursorOf(ctx: Context, accountId: string, { before, balance }: LedgerPosition): string {
  return ctx.pipeline.installationKey.encrypt(`${before}.${balance}`, cursorName(accountId))
}

function placeOf(
  ctx: Context,
  accountId: string,
  cursor: string | undefined,
): LedgerPosition | undefined {
  if (cursor === undefined) return undefined
  const text = ctx.pipeline.installationKey.decrypt(cursor, cursorName(accountId))
  const [, before, balance] = /^(\d+)\.(-?\d+)$/.exec(text ?? '') ?? []
  if (before === undefined) {
    throw new Problem('bad_request', '`cursor` was not returned by this service.')
  }
  return { before: Number(before), balance: Number(balance) }
}

function cursorName(accountId: string): string {
  return `ledger cursor ${accountId}`
}

const COLUMNS = [
  'at',
  'kind',
  'credits',
  'held',
  'balance',
  'product',
  'source',
  'batch_id',
  'detail',
] as const satisfies readonly (keyof LedgerEntry)[]

async function sendCsv(
  ctx: Context,
  req: Request,
  res: Response,
  from: { readonly accountId: string; readonly place: LedgerPosition | undefined },
): Promise<void> {
  await showBalance(ctx.access, res)
  res.writeHead(
    200,
    headersWith(res, {
      'Content-Type': 'text/csv; charset=utf-8',
      'Content-Disposition': 'attachment; filename="ledger.csv"',
    }),
  )
  await sendStream(ctx, req, res, Readable.from(csvPages(ctx, from)))
}

/**
 * The ledger as text, one page of entries at a time, so that no connection is held while the client
 * reads.
 */
async function* csvPages(
  ctx: Context,
  { accountId, place }: { readonly accountId: string; readonly place: LedgerPosition | undefined },
): AsyncGenerator<string> {
  yield csvLine(COLUMNS)
  let at = place
  for (;;) {
    const { entries, next } = await sliceOf(ctx.db, accountId, {
      limit: LEDGER_PAGE.max,
      place: at,
    })
    yield entries.map((entry) => csvLine(COLUMNS.map((column) => entry[column]))).join('')
    if (next === null) return
    at = next
  }
}
