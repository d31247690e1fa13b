import { checksOf } from '@plumbline/contract/products'
import { refuseJsonArray } from './file-kind.ts'
import { createJsonColumns, parseRecord, valueText } from './json-row.ts'
import { createLineReader } from './line-reader.ts'
import { IntakeError } from './intake-error.ts'
import { SAMPLE_ROWS } from './record-layout.ts'
import type { FoundLayout, BatchFileOptions, FileSample } from './file-layout.ts'

/** Finds the layout of JSON records; their keys are the columns. */
export function findJsonLayout(
  { text, cut }: FileSample,
  format: 'ndjson' | 'records',
  { product, limits, ownColumns }: BatchFileOptions,
): FoundLayout {
  refuseJsonArray(text)
  const lines = createLineReader('\n', limits.lineBytes)
  const whole = [...lines.push(text), ...(cut ? [] : lines.end())]
  const records = whole.flatMap((line) => {
    const record = line === undefined ? undefined : parseRecord(line.trim())
    return record === undefined ? [] : [record]
  })
  if (records.length === 0) {
    throw new IntakeError(
      'unprocessable',
      'No line of the file is a JSON object; write one a line.',
    )
  }
  // JSON records name their fields; all parts of the product may come.
  const first = format === 'records' ? [checksOf(product)[0] ?? 'email'] : []
  const columns = createJsonColumns([...(ownColumns?.keys ?? []), ...first], limits)
  for (const record of records) {
    const own = Object.keys(record)
    // A record of too many keys is refused, and must not refuse the file.
    if (own.length > limits.columns) continue
    for (const key of own) columns.add(key)
  }
  const header = columns.names
  const rows = records
    .slice(0, SAMPLE_ROWS)
    .map((record) =>
      header.map((key) => (Object.hasOwn(record, key) ? valueText(record[key]) : '')),
    )
  return {
    format,
    layout: { kind: 'json', keys: {} },
    skipChars: 0,
    skipRecords: 0,
    delimiter: null,
    header,
    rows,
  }
}
