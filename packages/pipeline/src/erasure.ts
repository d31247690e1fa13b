import {
  ERASURES_RUNNING_MAX,
  erasedValuesOf,
  type ErasureCounts,
  type ErasurePage,
  type ErasureView,
  type EraseRequest,
} from '@plumbline/contract/erasure'
import type { Json } from '@plumbline/contract/outcome'
import { Problem } from '@plumbline/contract/problem'
import { CHECKS } from '@plumbline/contract/products'
import { databaseMoment } from '@plumbline/db/clock'
import type { BatchOwner } from '@plumbline/db/batches/rows'
import {
  countRunningErasures,
  createErasure,
  findErasure,
  newErasureId,
  pageOfErasures,
  type ErasureRow,
} from '@plumbline/db/erasures'
import type { Tx } from '@plumbline/db/database'
import { firstProgress } from './erasure-progress.ts'
import type { ErasureTarget } from './erased-values.ts'
import type { InstallationKey } from './installation-key.ts'
import type { Pipeline } from './pipeline.ts'

/**
 * Begins to erase values from everything that is stored for an account; with a test key only from
 * the data of test keys.
 *
 * @param inTransaction commits together with it
 * @throws Problem `too_many_requests` if too many are under way
 */
export async function beginErasure(
  pipeline: Pick<Pipeline, 'db' | 'installationKey'>,
  owner: BatchOwner,
  request: EraseRequest,
  inTransaction: (tx: Tx, view: ErasureView) => Promise<void>,
): Promise<void> {
  const values = erasedValuesOf(request)
  const includeAddresses = request.include_addresses ?? false
  const id = newErasureId()
  const target = hideTarget(pipeline.installationKey, id, { values, includeAddresses })
  await pipeline.db.kysely.transaction().execute(async (tx) => {
    if ((await countRunningErasures(tx, owner.accountId)) >= ERASURES_RUNNING_MAX) throw tooMany()
    const row = await createErasure(tx, {
      id,
      ...owner,
      valueCount: CHECKS.reduce((sum, check) => sum + values[check].length, 0),
      includeAddresses,
      target,
      place: asJson(firstProgress(owner.mode, await databaseMoment(tx))),
    })
    await inTransaction(tx, erasureViewOf(row))
  })
}

/** Safe because the progress holds only strings, numbers, booleans and arrays of them. */
function asJson(place: object): Json {
  return place as Json
}

function tooMany(): Problem {
  return new Problem(
    'too_many_requests',
    `The account has ${ERASURES_RUNNING_MAX} erasures under way; send many values in one, or wait until one ends.`,
    { retryAfterSeconds: 60 },
  )
}

/**
 * The state of an erasure of this owner.
 *
 * @throws Problem `not_found`
 */
export async function readErasure(
  { db }: Pick<Pipeline, 'db'>,
  owner: BatchOwner,
  id: string,
): Promise<ErasureView> {
  const row = await findErasure(db, owner, id)
  if (row === undefined) throw noSuchErasure()
  return erasureViewOf(row)
}

/**
 * A page of this owner's erasures, newest first; a cursor is the id of the last one shown.
 *
 * @throws Problem `bad_request` for a cursor that is not of this owner
 */
export async function listErasures(
  { db }: Pick<Pipeline, 'db'>,
  owner: BatchOwner,
  { limit, cursor }: { readonly limit: number; readonly cursor: string | undefined },
): Promise<ErasurePage> {
  if (cursor !== undefined && (await findErasure(db, owner, cursor)) === undefined) {
    throw new Problem('bad_request', '`cursor` was not returned by this service.')
  }
  const rows = await pageOfErasures(db, owner, { limit: limit + 1, after: cursor })
  const shown = rows.slice(0, limit)
  return {
    data: shown.map(erasureViewOf),
    next_cursor: rows.length > limit ? (shown.at(-1)?.id ?? null) : null,
  }
}

/** The refusal of an erasure id that does not belong to the account. */
export function noSuchErasure(): Problem {
  return new Problem('not_found', 'There is no erasure with this id.')
}

const NOTHING: ErasureCounts = {
  batches: 0,
  rows: 0,
  uploads: 0,
  results: 0,
  answers: 0,
  deliveries: 0,
  facts: 0,
  purchases: 0,
}

/** An erasure as the API shows it. */
export function erasureViewOf(row: ErasureRow): ErasureView {
  return {
    id: row.id,
    status: row.status,
    values: row.value_count,
    include_addresses: row.include_addresses,
    created_at: row.created_at.toISOString(),
    completed_at: row.completed_at?.toISOString() ?? null,
    erased: { ...NOTHING, ...row.counts },
  }
}

function hideTarget(key: InstallationKey, id: string, target: ErasureTarget): string {
  return key.encrypt(JSON.stringify(target), erasureName(id))
}

/**
 * The values that an erasure searches for.
 *
 * @throws if they were encrypted under another key
 */
export function targetOf(key: InstallationKey, row: ErasureRow): ErasureTarget {
  const text = row.target === null ? undefined : key.decrypt(row.target, erasureName(row.id))
  if (text === undefined) throw new Error(`the values of erasure ${row.id} cannot be decrypted`)
  // Safe because only `hideTarget` encrypts under this name.
  return JSON.parse(text) as ErasureTarget
}

/** Associated data under which an erasure's values are encrypted. */
export function erasureName(id: string): string {
  return `erasure ${id}`
}
