import { withoutBidiControls } from '@plumbline/contract/bidi-controls'
import { BATCH_STATES, type BatchState } from '@plumbline/contract/batch'
import {
  SHOWN_NAME_CHARS,
  SHOWN_SHEETS_CHARS,
  type BatchView,
} from '@plumbline/contract/batch-view'
import type { ShownBatch } from '@plumbline/db/batches/shown-columns'
import type { BatchSums } from '@plumbline/db/tables/batches'
import { cutValue } from '@plumbline/intake/preview-columns'
import { verdictNames } from './record.ts'
import { timeLeftMs } from './time-left.ts'

const NOTHING: BatchSums = {
  rowsDone: 0,
  creditsUsed: 0,
  verdicts: [],
  answeredShare: 0,
  totals: { email: 0, phone: 0, ip: 0, domain: 0 },
  isOpenCounted: true,
  open: {},
  groups: [],
  prepaid: 0,
  waitMs: 0,
}

// States in which the hold is open.
const HOLDING: readonly BatchState[] = ['running', 'paused', 'finalizing', 'canceling']

/**
 * The batch object of decision 33 from its row and the sums of its chunks, undefined if it has none;
 * for an ended batch the sums that its row holds.
 */
export function batchViewOf(
  row: ShownBatch,
  ofChunks: BatchSums | undefined,
  now = Date.now(),
): BatchView {
  const sums = row.sums === null ? shownSums(row, ofChunks ?? NOTHING) : { ...NOTHING, ...row.sums }
  const progress = progressOf(row, sums)
  return {
    id: row.id,
    product: row.product,
    name: shown(row.name),
    status: row.status,
    origin: originOf(row),
    created_at: row.created_at.toISOString(),
    ...reachedAt(row),
    expires_at: row.expires_at?.toISOString() ?? null,
    resumes_at: row.resumes_at?.toISOString() ?? null,
    file:
      row.file_format === 'records'
        ? null
        : {
            name: shown(row.file_name),
            bytes: row.file_bytes,
            encoding: row.encoding,
            encoding_confidence: hundredths(row.encoding_confidence),
            delimiter: row.delimiter,
            sheet: shown(row.sheet),
            sheets: row.sheets === null ? null : shownSheets(row.sheets).map(withoutBidiControls),
            entry: row.entry === null ? null : cutName(withoutBidiControls(row.entry)),
          },
    mapping: shownMapping(row.mapping),
    rows: {
      total: row.rows_total,
      blank: row.rows_blank,
      refused: row.rows_refused,
      duplicate: row.rows_duplicate,
      known: row.rows_known,
      billable: row.rows_billable,
      done: sums.rowsDone,
    },
    verdicts: Object.fromEntries(
      verdictNames(row.product).map((name, at) => [name, sums.verdicts[at] ?? 0]),
    ),
    weights: row.weights,
    credits: {
      estimate: row.credits_estimate,
      held: HOLDING.includes(row.status)
        ? row.credits_held - (sums.creditsUsed - sums.prepaid) - row.credits_released
        : 0,
      used: sums.creditsUsed + row.credits_voided,
      released: row.credits_released,
    },
    progress: rounded(progress),
    eta_seconds: etaSeconds(row, sums, now),
    error: row.error,
  }
}

/** While a batch is read, its chunks may still be those of an earlier reading. */
function shownSums({ status }: ShownBatch, ofChunks: BatchSums): BatchSums {
  return status === 'analyzing' ? NOTHING : ofChunks
}

/** A share rounded to hundredths: the column has single precision. */
function hundredths(share: number | null): number | null {
  return share === null ? null : Math.round(share * 100) / 100
}

function originOf({ origin_id: batch, origin_kind: kind }: ShownBatch): BatchView['origin'] {
  return batch === null || kind === null ? null : { batch, kind }
}

/** A name given by the client, safe to show. */
function shown(name: string | null): string | null {
  return name === null ? null : withoutBidiControls(name)
}

/** The names of the first sheets of a workbook, as many as are shown. */
export function shownSheets(names: readonly string[]): readonly string[] {
  let chars = 0
  return names.filter((name) => (chars += name.length) <= SHOWN_SHEETS_CHARS)
}

/** A name that may be as long as a line of a file, cut for display. */
function cutName(name: string): string {
  return cutValue(name, SHOWN_NAME_CHARS)
}

function shownMapping(mapping: ShownBatch['mapping']): BatchView['mapping'] {
  return Object.fromEntries(
    Object.entries(mapping).map(([field, mapped]) => [
      field,
      { ...mapped, header: mapped.header === null ? null : cutName(mapped.header) },
    ]),
  )
}

function reachedAt(row: ShownBatch): Partial<BatchView> {
  return Object.fromEntries(
    BATCH_STATES.flatMap((state) => {
      const at = row.ats[state]
      return at === undefined ? [] : [[`${state}_at`, at]]
    }),
  )
}

/** A share in thousandths; 1 only where nothing is left. */
function rounded(share: number): number {
  return share === 1 ? 1 : Math.min(0.999, Math.round(share * 1000) / 1000)
}

function progressOf(row: ShownBatch, sums: BatchSums): number {
  switch (row.status) {
    case 'analyzing':
    case 'ready':
      return 0
    case 'completed':
      return 1
    case 'running':
    case 'paused':
    case 'finalizing':
    case 'failed':
      return Math.max(0, Math.min(1, sums.answeredShare))
    case 'canceling':
    case 'canceled':
    case 'expired':
      // A record counts when it has all its outcomes.
      return row.rows_total === 0 ? 0 : Math.min(1, sums.rowsDone / row.rows_total)
  }
}

/** Estimated seconds until a running batch is complete; null if nothing was done yet. */
function etaSeconds(row: ShownBatch, sums: BatchSums, now: number): number | null {
  const startedAt = row.ats.running
  if (row.status !== 'running' || startedAt === undefined || sums.answeredShare <= 0) return null
  const { answeredShare, waitMs } = sums
  const elapsedMs = Math.max(0, now - Date.parse(startedAt) - row.paused_ms)
  // While tasks are being created, the existing ones do not show how many subjects are open.
  const leftMs =
    row.tasks_from === null && sums.isOpenCounted
      ? timeLeftMs({ ...sums, elapsedMs, nowMs: now, samples: row.pace ?? [] })
      : Math.max((elapsedMs * (1 - answeredShare)) / answeredShare, waitMs)
  return leftMs === null ? null : Math.ceil(leftMs / 1000)
}
