import { tmpdir } from 'node:os'
import type { Signal } from '@plumbline/contract/outcome'
import { riskLevel } from '@plumbline/contract/results'
import { riskOf } from '@plumbline/scoring/score'
import type { Weights } from '@plumbline/contract/score'
import { uploadLimits } from '@plumbline/intake/limits'
import { IntakeError } from '@plumbline/intake/intake-error'
import { openBatchFile } from '@plumbline/intake/open-batch-file'
import { readRows } from '@plumbline/intake/read-rows'

/** A record with its score, and whether it was fraud. */
export interface LabelledScore {
  readonly score: number
  readonly fraud: boolean
}

/** A signal of the file, with the numbers of records and of frauds that have it. */
interface SignalTally {
  readonly signal: Signal
  records: number
  fraud: number
}

/**
 * How well the weights, and each signal alone, separate the labelled records of a file. The file
 * has a column `label` and one for each signal, named `group.code`; true is `1`, `true`, `yes` or
 * `fraud`.
 */
export async function scoreSignals(path: string, weights: Weights): Promise<string> {
  const list = await openBatchFile({
    path,
    scratchDir: tmpdir(),
    fileName: path,
    format: 'csv',
    header: true,
    limits: uploadLimits(),
    product: 'email',
    mapping: { email: 'label' },
  })
  const header = (list.header ?? []).map((name) => name.trim())
  const labelColumn = header.indexOf('label')
  const columns = header.flatMap((name, column) => {
    const signal = signalOf(name, weights.groups)
    return signal === undefined ? [] : [{ column, tally: { signal, records: 0, fraud: 0 } }]
  })
  const ignored = header.filter((name) => name !== 'label' && !signalOf(name, weights.groups))
  if (columns.length === 0) {
    throw new IntakeError(
      'unprocessable',
      `No column names a signal; expected names such as ip.anonymity.vpn, got ${header.join(', ')}.`,
    )
  }
  const scores: LabelledScore[] = []
  for await (const block of readRows(list, AbortSignal.timeout(600_000))) {
    for (const { cells, kind } of block) {
      if (kind === 'blank' || kind === 'refused') continue
      const fraud = isTrue(cells[labelColumn])
      const tallies = columns
        .filter(({ column }) => isTrue(cells[column]))
        .map(({ tally }) => tally)
      for (const tally of tallies) {
        tally.records += 1
        tally.fraud += Number(fraud)
      }
      const signals = tallies.map(({ signal }) => signal)
      scores.push({ score: riskOf(signals, weights), fraud })
    }
  }
  const tallies = columns.map(({ tally }) => tally)
  return [report(scores, ignored, weights.version), signalTable(tallies, weights)].join('\n')
}

function signalOf(
  name: string,
  groups: Readonly<Record<string, Readonly<Record<string, unknown>>>>,
): Signal | undefined {
  const dot = name.lastIndexOf('.')
  const [group, code] = [name.slice(0, Math.max(0, dot)), name.slice(dot + 1)]
  const rows = Object.hasOwn(groups, group) ? groups[group] : undefined
  return rows !== undefined && Object.hasOwn(rows, code) ? { group, code } : undefined
}

function isTrue(cell: string | undefined): boolean {
  return /^(?:1|true|yes|y|fraud|bad)$/i.test((cell ?? '').trim())
}

function report(
  scores: readonly LabelledScore[],
  ignored: readonly string[],
  version: string,
): string {
  const fraud = scores.filter((record) => record.fraud).length
  const curve = areaUnderCurve(scores)
  const lines = [
    `records ${scores.length}, fraud ${fraud}, weights ${version}`,
    ...(ignored.length === 0 ? [] : [`columns that are no signal: ${ignored.join(', ')}`]),
    `area under the curve ${curve === null ? 'not defined: all labels are alike' : curve.toFixed(3)}`,
    'level   records  fraud  precision  share of fraud',
  ]
  for (const level of ['high', 'medium', 'low'] as const) {
    const band = scores.filter(({ score }) => riskLevel(score) === level)
    const bad = band.filter((record) => record.fraud).length
    lines.push(
      [
        level.padEnd(6),
        String(band.length).padStart(8),
        String(bad).padStart(6),
        percent(bad, band.length).padStart(10),
        percent(bad, fraud).padStart(15),
      ].join(' '),
    )
  }
  return lines.join('\n')
}

/** Shows each signal's weight, the score of the signal alone, beside the share of fraud in its records. */
function signalTable(tallies: readonly SignalTally[], weights: Weights): string {
  const lines = tallies
    .toSorted((a, b) => b.records - a.records)
    .map(({ signal: { group, code }, records, fraud }) =>
      [
        `${group}.${code}`.padEnd(40),
        String(records).padStart(8),
        String(fraud).padStart(6),
        percent(fraud, records).padStart(10),
        String(weights.groups[group]?.[code]?.weight ?? '-').padStart(7),
      ].join(' '),
    )
  return [`${'signal'.padEnd(40)}  records  fraud  precision  weight`, ...lines].join('\n')
}

function percent(part: number, whole: number): string {
  return whole === 0 ? '-' : `${((100 * part) / whole).toFixed(1)} %`
}

/**
 * Area under the ROC curve: the probability that a fraudulent record has a higher score than an honest
 * one, ties counted half; null unless there are records of both kinds.
 */
export function areaUnderCurve(scores: readonly LabelledScore[]): number | null {
  const honestAt = Array.from({ length: 101 }, () => 0)
  const fraudAt = Array.from({ length: 101 }, () => 0)
  for (const { score, fraud } of scores) {
    const counts = fraud ? fraudAt : honestAt
    counts[score] = (counts[score] ?? 0) + 1
  }
  let honest = 0
  let fraud = 0
  let wins = 0
  for (let score = 0; score <= 100; score++) {
    const [here, bad] = [honestAt[score] ?? 0, fraudAt[score] ?? 0]
    wins += bad * (honest + here / 2)
    honest += here
    fraud += bad
  }
  return honest === 0 || fraud === 0 ? null : wins / (honest * fraud)
}
