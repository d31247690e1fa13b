import type { BatchChange } from '@plumbline/contract/batch-change'
import type { BatchPreview } from '@plumbline/contract/batch-preview'
import { DELIMITERS, type Delimiter } from '@plumbline/contract/delimiters'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Button } from '../../components/button.tsx'
import { Field, SelectField, type Choice } from '../../components/field.tsx'
import { Card, Notice } from '../../components/page.tsx'
import { Facts, Table } from '../../components/table.tsx'
import { Foreign, visibleText } from '../../components/text.tsx'
import * as format from '../../format.ts'
import type { Changes } from './changes.ts'
import { titleOf } from './columns.tsx'

const DELIMITER_NAMES: Readonly<Record<Delimiter, string>> = {
  ',': 'Comma',
  ';': 'Semicolon',
  '\t': 'Tab',
  '|': 'Bar',
}

/** Common encodings; any other can be typed in. */
const ENCODINGS = [
  'utf-8',
  'windows-1252',
  'windows-1250',
  'windows-1251',
  'windows-1254',
  'iso-8859-15',
  'utf-16le',
  'gb18030',
  'shift_jis',
  'euc-kr',
]

/** Options for reading the file (sheet, encoding, delimiter, header), and its first rows. */
export function Reading({
  preview,
  sheets,
  changes,
}: {
  readonly preview: BatchPreview
  /** Names of the sheets of a workbook, the first ones if they are many. */
  readonly sheets: readonly string[]
  readonly changes: Changes
}): JSX.Element {
  const { file, first_rows: first } = preview
  return (
    <Card title="How it was read">
      <Facts
        facts={[
          ['Form', file.format ?? 'Not known yet'],
          ...(file.sheet === null
            ? []
            : [['Sheet', <Foreign key="sheet" text={file.sheet} />] as const]),
          ['Encoding', file.encoding ?? 'None'],
          ...(file.quote_escape === undefined
            ? []
            : [['Quotes in cells', 'Each after a backslash'] as const]),
          ['Header', file.header_row === null ? 'None' : `Row ${format.number(file.header_row)}`],
          ['Rows', rowsText(preview)],
        ]}
      />
      <details class="details">
        <summary>Correct how it is read</summary>
        <Corrections preview={preview} sheets={sheets} changes={changes} />
      </details>
      {first.length > 0 && (
        <details class="details">
          <summary>First rows</summary>
          <Table
            caption="First rows of the file"
            isStacked={false}
            rows={first}
            keyOf={(_, index) => index}
            columns={preview.columns.map((column) => ({
              title: visibleText(titleOf(column)),
              cell: (cells: readonly string[]) => (
                <Foreign text={cells[column.column] ?? ''} clip />
              ),
            }))}
          />
        </details>
      )}
    </Card>
  )
}

/** Rows that can be chosen as the header, at least. */
const HEADER_ROWS = 30

/** What the reading of a file goes by unless something else is chosen. */
const AS_FOUND: BatchChange = {
  entry: null,
  sheet: null,
  encoding: null,
  delimiter: null,
  header: null,
}

/** Says why a file cannot be read in the way that was chosen, and goes back to the first one. */
export function UndoReading({
  fault,
  changes: { change, isBusy },
}: {
  readonly fault: string
  readonly changes: Changes
}): JSX.Element {
  return (
    <Card title="How it was read">
      <Notice
        tone="warn"
        actions={
          <Button busy={isBusy} onClick={() => change(AS_FOUND)}>
            Read it as at first
          </Button>
        }
      >
        {fault}
      </Notice>
    </Card>
  )
}

function rowsText({ rows, error }: BatchPreview): string {
  if (rows !== null) return format.number(rows.total)
  return error === null ? 'Being counted' : 'Not counted yet'
}

/** The header that was chosen and is not confirmed yet, else the one that was found. */
function headerOf({ header }: BatchChange, found: number | null): number | false {
  if (typeof header === 'number') return header
  return header === false ? false : (found ?? false)
}

function headerChoices(found: number | null): readonly Choice[] {
  const length = Math.max(HEADER_ROWS, found ?? 0)
  const rows = Array.from({ length }, (_, at) => ({
    value: String(at + 1),
    text: `Row ${format.number(at + 1)}`,
  }))
  return [{ value: 'false', text: 'None, all rows are records' }, ...rows]
}

function Corrections({
  preview: { file },
  sheets,
  changes: { wished, change },
}: {
  readonly preview: BatchPreview
  readonly sheets: readonly string[]
  readonly changes: Changes
}): JSX.Element {
  const [encoding, setEncoding] = useState(file.encoding ?? '')
  const [sheet, setSheet] = useState(file.sheet ?? '')
  return (
    <div class="stack">
      <div class="columns">
        {file.delimiter !== null && (
          <SelectField
            label="Delimiter"
            value={wished.delimiter ?? file.delimiter}
            choices={DELIMITERS.map((value) => ({ value, text: DELIMITER_NAMES[value] }))}
            onChange={(chosen) =>
              change({ delimiter: DELIMITERS.find((one) => one === chosen) ?? null })
            }
          />
        )}
        {file.sheet === null ? (
          <Field
            label="Encoding"
            value={encoding}
            list={ENCODINGS}
            onInput={setEncoding}
            maxLength={40}
          />
        ) : (
          <Field
            label="Sheet"
            value={sheet}
            list={sheets}
            onInput={setSheet}
            maxLength={200}
            hint={<Foreign text={`There are: ${sheets.join(', ')}.`} />}
          />
        )}
      </div>
      <SelectField
        label="Header"
        value={String(headerOf(wished, file.header_row))}
        choices={headerChoices(file.header_row)}
        onChange={(chosen) => change({ header: chosen === 'false' ? false : Number(chosen) })}
        hint="The row that names the columns; those above it are left out. Blank ones count."
      />
      <div>
        <Button onClick={() => change(file.sheet === null ? { encoding } : { sheet })}>
          Read it anew
        </Button>
      </div>
    </div>
  )
}
