import { Readable } from 'node:stream'
import type { ComparisonFormat, Comparison } from '@plumbline/contract/comparison'
import { Problem } from '@plumbline/contract/problem'
import { CHECKS, checksOf, type Check } from '@plumbline/contract/products'
import { type BatchOwner, type BatchRow } from '@plumbline/db/batches/rows'
import { alignRows } from './align-rows.ts'
import { readBatchOf } from './batch-access.ts'
import { csvCell } from '@plumbline/intake/csv-cell'
import type { LineFormat } from './line-format.ts'
import { normalValue } from './normal-value.ts'
import type { Pipeline } from './pipeline.ts'
import { selectionOf } from './recheck.ts'
import { hasResults, rowsOf, type RowsRequest } from './result-rows.ts'
import type { ShownRow } from './shown-row.ts'

/** Options of a comparison of two batches. */
export interface ComparisonRequest {
  readonly format: ComparisonFormat
  /** Whether to include unchanged rows. */
  readonly all: boolean
}

/** An answered row of a batch. */
interface Answer {
  /** 1-based. */
  readonly row: number
  readonly ref: string | null
  /** Equal for rows with the same subjects, however they are written. */
  readonly key: string
  readonly verdict: string | null
  readonly advice: string | null
  readonly parts: { readonly [C in Check]?: { readonly status: string; readonly reason: string } }
}

/** A row without all of its outcomes, which only holds its place. */
interface NoAnswer {
  /** Equal to that of no other row. */
  readonly key: string
}

/** A row that is in both batches. */
interface Pair {
  readonly before: Answer
  readonly after: Answer
  readonly changed: readonly string[]
}

/** Rows that are in one batch only: they are counted, since any number can follow one another. */
interface Unpaired {
  readonly kind: 'only_before' | 'only_after'
  readonly count: number
}

/**
 * The changes between two batches of the same records, or of a part of them: a summary, or row by
 * row. The batch that was created first is `before`. Rows are matched by their subjects, in order.
 *
 * @throws Problem `not_found`; `conflict` if one has not ended, or they are of different products
 */
export async function openComparison(
  pipeline: Pipeline,
  owner: BatchOwner,
  ids: readonly [string, string],
  { format, all }: ComparisonRequest,
  turn: () => Promise<void>,
): Promise<{ readonly contentType: string; readonly fileName: string; readonly stream: Readable }> {
  const [one, other] = await Promise.all([
    endedBatch(pipeline, owner, ids[0]),
    endedBatch(pipeline, owner, ids[1]),
  ])
  if (one.product !== other.product) {
    throw new Problem('conflict', `One batch is of ${one.product}, the other of ${other.product}.`)
  }
  const [before, after] = one.created_at <= other.created_at ? [one, other] : [other, one]
  const pairs = pairsOf(pipeline, before, after, turn)
  const names = { fileName: `${before.id}-${after.id}.${format}` }
  switch (format) {
    case 'json': {
      const text = JSON.stringify(await summaryOf(before, after, pairs))
      const contentType = 'application/json; charset=utf-8'
      return { ...names, contentType, stream: Readable.from([Buffer.from(text)]) }
    }
    case 'ndjson': {
      const contentType = 'application/x-ndjson; charset=utf-8'
      return { ...names, contentType, stream: textOf('', pairs, all, jsonLine) }
    }
    case 'csv': {
      const checks = checksOf(before.product)
      const contentType = 'text/csv; charset=utf-8'
      const line = (pair: Pair): string => csvLine(pair, checks)
      return { ...names, contentType, stream: textOf(csvHeader(checks), pairs, all, line) }
    }
  }
}

async function endedBatch(pipeline: Pipeline, owner: BatchOwner, id: string): Promise<BatchRow> {
  const batch = await readBatchOf(pipeline.db, owner, id)
  if (hasResults(batch)) return batch
  throw new Problem('conflict', `The batch ${id} is ${batch.status}; compare it when it has ended.`)
}

type Aligned = AsyncGenerator<Pair | Unpaired, void, undefined>

/**
 * Matches the answered rows of two batches. A recheck has a row for each that it selected, so that
 * it is matched with those alone: any number of others lies between them, and some had no answer.
 */
async function* pairsOf(
  pipeline: Pipeline,
  before: BatchRow,
  after: BatchRow,
  turn: () => Promise<void>,
): Aligned {
  const { recheck } = after.requested
  const isPart = recheck?.of === before.id
  const selection = isPart ? selectionOf(after, recheck) : ALL
  let othersCount = 0
  const countOther = (): void => {
    othersCount++
  }
  const old = answersOf(pipeline, before, { ...selection, turn, holdsPlaces: isPart }, countOther)
  const recent = answersOf(pipeline, after, { ...ALL, turn, holdsPlaces: isPart })
  for await (const row of alignRows(old, recent, ({ key }) => key)) {
    if (row.kind === 'both') {
      if (isAnswer(row.left) && isAnswer(row.right)) yield pairOf(row.left, row.right)
    } else if (row.kind === 'left') {
      if (isAnswer(row.left)) yield { kind: 'only_before', count: 1 }
    } else if (isAnswer(row.right)) yield { kind: 'only_after', count: 1 }
  }
  yield { kind: 'only_before', count: othersCount }
}

function isAnswer(row: Answer | NoAnswer): row is Answer {
  return 'row' in row
}

function pairOf(before: Answer, after: Answer): Pair {
  return { before, after, changed: changesOf(before, after) }
}

const ALL = { only: null, before: null } as const

/**
 * Selected rows of a batch that have all their outcomes, in pages; the others too if they hold their
 * places.
 *
 * @param passed called for each row with all its outcomes that is not selected
 */
async function* answersOf(
  pipeline: Pipeline,
  batch: BatchRow,
  rows: Pick<RowsRequest, 'only' | 'before' | 'turn'> & { readonly holdsPlaces: boolean },
  passed?: () => void,
): AsyncGenerator<readonly (Answer | NoAnswer)[], void, undefined> {
  const { holdsPlaces, ...wanted } = rows
  let answers: (Answer | NoAnswer)[] = []
  const lines: LineFormat = {
    header: '',
    passed: (row) => {
      if (answerOf(row, null) !== null) passed?.()
    },
    line: (cells, place, row) => {
      const answer = answerOf(row, cells.refs[place] ?? null)
      if (answer === null && !holdsPlaces) return ''
      answers.push(answer ?? { key: `${batch.id} ${row.row}` })
      // Rows without any text would not be yielded.
      return '.'
    },
  }
  for await (const _ of rowsOf(pipeline, batch, { form: { kind: 'given', lines }, ...wanted })) {
    yield answers
    answers = []
  }
}

function answerOf({ row, status, record, verdict, recommendation }: ShownRow, ref: string | null) {
  if (status !== 'done' || record === undefined) return null
  const { email, phone, ip, domain } = record.outcomes
  const key = [
    email?.facts.normalized,
    phone?.facts.number,
    // Results show these two as the row wrote them.
    ip === undefined ? undefined : normalValue('ip', ip.facts.ip),
    domain === undefined ? undefined : normalValue('domain', domain.facts.domain),
  ]
  const parts = Object.fromEntries(
    CHECKS.flatMap((check) => {
      const outcome = record.outcomes[check]
      if (outcome === undefined) return []
      return [[check, { status: outcome.status, reason: outcome.reason }]]
    }),
  )
  const advice = recommendation?.advice ?? null
  return { row: row + 1, ref, key: JSON.stringify(key), verdict, advice, parts }
}

function changesOf(before: Answer, after: Answer): readonly string[] {
  const changes = CHECKS.flatMap((check) =>
    (['status', 'reason'] as const).flatMap((field) =>
      before.parts[check]?.[field] === after.parts[check]?.[field] ? [] : [`${check}.${field}`],
    ),
  )
  return [
    ...(before.verdict === after.verdict ? [] : ['verdict']),
    ...(before.advice === after.advice ? [] : ['advice']),
    ...changes,
  ]
}

async function summaryOf(before: BatchRow, after: BatchRow, pairs: Aligned): Promise<Comparison> {
  const rows = { compared: 0, changed: 0, only_before: 0, only_after: 0 }
  const verdicts: Record<string, Record<string, number>> = {}
  for await (const pair of pairs) {
    if ('count' in pair) {
      rows[pair.kind] += pair.count
      continue
    }
    rows.compared++
    if (pair.changed.length > 0) rows.changed++
    const { verdict: was } = pair.before
    const { verdict: is } = pair.after
    if (was === null || is === null) continue
    const counts = (verdicts[was] ??= {})
    counts[is] = (counts[is] ?? 0) + 1
  }
  return { before: before.id, after: after.id, rows, verdicts }
}

/** Maximum number of pairs whose lines are sent in one write. */
const LINES_A_PIECE = 500

function textOf(
  header: string,
  pairs: Aligned,
  all: boolean,
  line: (pair: Pair) => string,
): Readable {
  return Readable.from(pieces(), { objectMode: false })
  async function* pieces(): AsyncGenerator<Buffer, void, undefined> {
    let text = header
    let count = 0
    for await (const pair of pairs) {
      if ('count' in pair || (!all && pair.changed.length === 0)) continue
      text += line(pair)
      if (++count % LINES_A_PIECE !== 0) continue
      yield Buffer.from(text)
      text = ''
    }
    if (text !== '') yield Buffer.from(text)
  }
}

function jsonLine({ before, after, changed }: Pair): string {
  const shown = ({ verdict, advice, parts }: Answer) => ({ verdict, advice, parts })
  const line = {
    row: after.row,
    row_before: before.row,
    ref: after.ref,
    changed,
    before: shown(before),
    after: shown(after),
  }
  return `${JSON.stringify(line)}\n`
}

function csvHeader(checks: readonly Check[]): string {
  const names = [
    'verdict',
    'advice',
    ...checks.flatMap((check) => [`${check}.status`, `${check}.reason`]),
  ]
  const sides = names.flatMap((name) => [`before.${name}`, `after.${name}`])
  return `${['row', 'row_before', 'ref', 'changed', ...sides].join(',')}\r\n`
}

function csvLine({ before, after, changed }: Pair, checks: readonly Check[]): string {
  const values = checks.flatMap((check) =>
    (['status', 'reason'] as const).flatMap((field) => [
      before.parts[check]?.[field] ?? '',
      after.parts[check]?.[field] ?? '',
    ]),
  )
  const cells = [
    String(after.row),
    String(before.row),
    csvCell(after.ref ?? '', false),
    changed.join(' '),
    before.verdict ?? '',
    after.verdict ?? '',
    before.advice ?? '',
    after.advice ?? '',
    ...values,
  ]
  return `${cells.join(',')}\r\n`
}
