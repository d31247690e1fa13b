import { Readable } from 'node:stream'
import { LEDGER_PAGE } from '@plumbline/contract/ledger'
import { KEY_MODES } from '@plumbline/contract/plans'
import { Problem, type ProblemCode } from '@plumbline/contract/problem'
import { getAccount } from '@plumbline/db/accounts'
import {
  pageOfOwnBatches,
  type BatchCursor,
  type OwnBatch,
} from '@plumbline/db/batches/own-batches'
import type { BatchOwner } from '@plumbline/db/batches/rows'
import { pageOfErasures } from '@plumbline/db/erasures'
import { pageOfResponses } from '@plumbline/db/idempotency'
import { listKeys } from '@plumbline/db/keys'
import { listInvitations } from '@plumbline/db/people/invitations'
import { listMembers } from '@plumbline/db/people/members'
import { listWebhooks } from '@plumbline/db/webhooks/endpoints'
import {
  pageOfOwnDeliveries,
  type OwnDeliveries,
  type OwnDeliveryCursor,
} from '@plumbline/db/webhooks/own-deliveries'
import { readLedger } from '@plumbline/metering/ledger'
import { storedResponseName } from '@plumbline/pipeline/stored-response-name'
import { erasureViewOf } from '@plumbline/pipeline/erasure'
import type { Pipeline } from '@plumbline/pipeline/pipeline'
import { viewOf } from '@plumbline/pipeline/read'
import { openResults } from '@plumbline/pipeline/results'
import type { ZipEntry } from '@plumbline/pipeline/zip-stream'
import { isAbsent } from '@plumbline/storage/storage'
import { webhookViewOf } from '@plumbline/webhooks/view'

/** Rows that are read at a time. */
const PAGE = 200

/** Rows from which on the file of a batch may exceed 4 GiB. */
const HUGE_ROWS = 500_000

/** Dependencies of writing an export. */
export interface ExportSource {
  readonly pipeline: Pipeline
  readonly owner: BatchOwner
  /** Awaited before rows are written, since that blocks the process for a while. */
  readonly turn: () => Promise<void>
}

/**
 * The files of an export, in order: with a live key everything that is stored for the account, with
 * a test key the data of calls with test keys. Each is read when its turn comes.
 */
export async function* exportFiles(source: ExportSource): AsyncGenerator<ZipEntry> {
  const { owner } = source
  const modes = owner.mode === 'live' ? KEY_MODES : (['test'] as const)
  if (owner.mode === 'live') yield* accountFiles(source)
  yield lines('batches.ndjson', () => batchesOf(source, modes, false))
  yield lines('lookups.ndjson', () => lookupsOf(source, modes))
  yield lines('answers.ndjson', () => answersOf(source, modes))
  yield lines('erasures.ndjson', () => erasuresOf(source, modes))
  for await (const row of batchRows(source, modes)) {
    if (!row.is_lookup && row.sample_of === null) yield* filesOfBatch(source, row)
  }
}

/** Files about the account itself, for live keys. */
function accountFiles(source: ExportSource): readonly ZipEntry[] {
  const { db } = source.pipeline
  const { accountId } = source.owner
  return [
    lines('account.ndjson', async function* () {
      yield (await getAccount(db, accountId)) ?? {}
    }),
    lines('members.ndjson', async function* () {
      for (const { userId: _, ...member } of await listMembers(db, accountId)) yield member
    }),
    lines('invitations.ndjson', async function* () {
      for (const { email, role, expiresAt } of await listInvitations(db, accountId)) {
        yield { email, role, expiresAt }
      }
    }),
    lines('keys.ndjson', async function* () {
      for (const key of await listKeys(db, accountId)) yield key
    }),
    lines('ledger.ndjson', () => ledgerOf(source)),
    lines('webhooks.ndjson', async function* () {
      for (const endpoint of await listWebhooks(db, accountId)) yield webhookViewOf(endpoint)
    }),
    lines('deliveries.ndjson', () => deliveriesOf(source)),
  ]
}

/** A file of one JSON object a line. */
function lines(name: string, objects: () => AsyncIterable<object>): ZipEntry {
  const texts = async function* (): AsyncGenerator<string> {
    for await (const object of objects()) yield `${JSON.stringify(object)}\n`
  }
  return { name, open: () => Readable.from(texts()) }
}

async function* ledgerOf({ pipeline, owner }: ExportSource): AsyncGenerator<object> {
  let place: Parameters<typeof readLedger>[2]['place']
  for (;;) {
    const limit = LEDGER_PAGE.max
    const { entries, next } = await readLedger(pipeline.db, owner.accountId, { limit, place })
    yield* entries
    if (next === null) return
    place = next
  }
}

async function* deliveriesOf({ pipeline, owner }: ExportSource): AsyncGenerator<object> {
  for (let after: OwnDeliveryCursor | null = null; ;) {
    const page: OwnDeliveries = await pageOfOwnDeliveries(pipeline.db, owner, after, PAGE)
    for (const { attempts, type, status, ...rest } of page.rows) {
      const { id, created_at: at, url, body, response_status, response_body, error } = rest
      const told = { id, type, status, attempts, created_at: at, url, body }
      yield { ...told, response_status, response_body, error }
    }
    after = page.next
    if (after === null) return
  }
}

type Modes = readonly BatchOwner['mode'][]

async function* batchRows(
  { pipeline, owner }: ExportSource,
  modes: Modes,
): AsyncGenerator<OwnBatch> {
  for (const mode of modes) {
    let after: BatchCursor | null = null
    for (;;) {
      const asked = { accountId: owner.accountId, mode }
      const page: readonly (OwnBatch & BatchCursor)[] = await pageOfOwnBatches(
        pipeline.db,
        asked,
        after,
        PAGE,
      )
      yield* page
      after = page.at(-1) ?? null
      if (page.length < PAGE) break
    }
  }
}

async function* batchesOf(
  source: ExportSource,
  modes: Modes,
  areLookups: boolean,
): AsyncGenerator<object> {
  for await (const row of batchRows(source, modes)) {
    if (row.is_lookup === areLookups && row.sample_of === null) {
      yield { mode: row.mode, ...(await viewOf(source.pipeline.db, row)) }
    }
  }
}

/** Asynchronous lookups with their requests and results, one a line. */
async function* lookupsOf(source: ExportSource, modes: Modes): AsyncGenerator<object> {
  for await (const row of batchRows(source, modes)) {
    if (!row.is_lookup) continue
    const { id, mode, product, status, created_at } = row
    let rows = ''
    for await (const piece of rowsOf(source, row)) rows += String(piece)
    const known: unknown = rows === '' ? null : JSON.parse(rows)
    yield { id, mode, product, status, created_at, row: known }
  }
}

async function* answersOf({ pipeline, owner }: ExportSource, modes: Modes): AsyncGenerator<object> {
  const asked = { accountId: owner.accountId, modes }
  for (let after: readonly string[] | null = null; ;) {
    const page = await pageOfResponses(pipeline.db, asked, after, PAGE)
    for (const answer of page) {
      if (answer.body === null || answer.body === '') continue
      // Those to the creation of an endpoint hold its secret, which viewers must not see.
      if (answer.path.startsWith('/v1/webhooks')) continue
      const body = pipeline.installationKey.decrypt(answer.body, storedResponseName(answer))
      yield { mode: answer.mode, path: answer.path, body: body ?? null }
    }
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE) return
    after = [last.mode, last.path, last.key]
  }
}

async function* erasuresOf(
  { pipeline, owner }: ExportSource,
  modes: Modes,
): AsyncGenerator<object> {
  for (const mode of modes) {
    const asked = { accountId: owner.accountId, mode }
    for (let after: string | undefined; ;) {
      const page = await pageOfErasures(pipeline.db, asked, { limit: PAGE, after })
      for (const row of page) yield { mode, ...erasureViewOf(row) }
      after = page.at(-1)?.id
      if (page.length < PAGE) break
    }
  }
}

/** Upload and rows of a batch, as far as they exist. */
function filesOfBatch(source: ExportSource, row: OwnBatch): readonly ZipEntry[] {
  const { id, file_bytes: bytes, rows_total: count } = row
  const isUpload = row.requested.recheck === undefined && row.requested.rescore === undefined
  const hasUpload = isUpload && !row.source_erased && row.erasing === null && bytes > 0
  const isFileless = row.status === 'failed' || row.status === 'expired'
  return [
    ...(hasUpload && !isFileless
      ? [
          {
            name: `batches/${id}/upload`,
            mayBeHuge: bytes > 4_000_000_000,
            open: () => Readable.from(uploadOf(source, row)),
          },
        ]
      : []),
    {
      name: `batches/${id}/rows.ndjson`,
      mayBeHuge: count > HUGE_ROWS,
      open: () => Readable.from(rowsOf(source, row)),
    },
  ]
}

/** An upload; empty if it was deleted meanwhile. @throws if it cannot be read */
async function* uploadOf({ pipeline }: ExportSource, row: OwnBatch): AsyncGenerator<Buffer> {
  const stream = await pipeline.storage.open(row.source_key).catch((error: unknown) => {
    if (isAbsent(error)) return undefined
    throw error
  })
  // Safe because a file is read as bytes.
  if (stream !== undefined) yield* stream as AsyncIterable<Buffer>
}

/**
 * The rows of a batch with their results so far; empty if there are none, or they were deleted
 * meanwhile.
 *
 * @throws if they cannot be read: an export that left them out would pass for complete
 */
async function* rowsOf(
  { pipeline, owner, turn }: ExportSource,
  row: OwnBatch,
): AsyncGenerator<Buffer> {
  if (!HAVE_ROWS.has(row.status)) return
  const asked = { format: 'ndjson', only: [], raw: true, after: 0 } as const
  const of = { accountId: owner.accountId, mode: row.mode }
  const opening = openResults(pipeline, of, row.id, asked, turn)
  const results = await opening.catch((error: unknown) => {
    if (error instanceof Problem && GONE.has(error.code)) return undefined
    throw error
  })
  // Safe because rows are written as bytes.
  if (results !== undefined) yield* results.stream as AsyncIterable<Buffer>
}

/** Refusals of batches without rows, or without rows any more. */
const GONE: ReadonlySet<ProblemCode> = new Set(['not_found', 'conflict'])

const HAVE_ROWS: ReadonlySet<OwnBatch['status']> = new Set([
  'running',
  'paused',
  'finalizing',
  'canceling',
  'canceled',
  'completed',
])
