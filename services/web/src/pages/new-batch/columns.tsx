import type { BatchChange } from '@plumbline/contract/batch-change'
import type { BatchPreview, PreviewColumn } from '@plumbline/contract/batch-preview'
import { checksOf } from '@plumbline/contract/products'
import type { JSX } from 'preact'
import { useId } from 'preact/hooks'
import { CountryField } from '../../components/country-field.tsx'
import { Card, Empty } from '../../components/page.tsx'
import { Table } from '../../components/table.tsx'
import { Foreign, visibleText } from '../../components/text.tsx'
import * as format from '../../format.ts'
import type { Changes } from './changes.ts'

/** Fields that a column can be mapped to. */
const FIELD_NAMES: Readonly<Record<string, string>> = {
  email: 'Email address',
  phone: 'Phone number',
  ip: 'IP address',
  domain: 'Domain name',
  ref: 'Your own reference',
}

/** Each column with the kind of its cells and its mapping, which can be changed. */
export function Columns({
  preview,
  changes: { wished, change },
}: {
  readonly preview: BatchPreview
  readonly changes: Changes
}): JSX.Element {
  const { columns, product, default_country: country } = preview
  const checks = checksOf(product)
  const fields = [...checks, 'ref']
  const take = (column: number, field: string): void => {
    const kept = columns.flatMap((one) => {
      // Also what was chosen before and is not confirmed yet.
      const held = fieldOf(one, wished)
      const isKept = one.column !== column && held !== '' && held !== field
      return isKept ? [[held, one.column] as const] : []
    })
    const mapping = Object.fromEntries(kept)
    change({ mapping: field === '' ? mapping : { ...mapping, [field]: column } })
  }
  return (
    <Card title="Columns">
      {columns.length === 0 ? (
        <Empty title="No column yet">The file is still being read.</Empty>
      ) : (
        <Table
          caption="Columns of the file"
          rows={columns}
          keyOf={({ column }) => column}
          columns={[
            {
              title: 'Column',
              narrow: 'head',
              cell: (column) => <Foreign text={titleOf(column)} clip />,
            },
            { title: 'Values', narrow: 'line', cell: ({ values }) => <Values values={values} /> },
            {
              title: 'Looks like',
              narrow: 'mark',
              isTight: true,
              cell: ({ kind, confidence }) => (
                <>
                  {kind} <span class="muted">{format.percent(confidence)}</span>
                </>
              ),
            },
            {
              title: 'Taken for',
              narrow: 'line',
              cell: (column) => (
                <TakenFor
                  column={column}
                  field={fieldOf(column, wished)}
                  fields={fields}
                  onChange={(field) => take(column.column, field)}
                />
              ),
            },
          ]}
        />
      )}
      {columns.length > 0 && checks.includes('phone') && (
        <CountryField
          value={(wished.default_country === undefined ? country : wished.default_country) ?? ''}
          onChange={(code) => change({ default_country: code === '' ? null : code })}
        />
      )}
    </Card>
  )
}

/** The field that a column is mapped to; empty if none. */
function fieldOf({ column, field }: PreviewColumn, { mapping }: BatchChange): string {
  if (mapping == null) return field ?? ''
  return Object.entries(mapping).find(([, at]) => at === column)?.[0] ?? ''
}

/** Title of a column: its header, else its position. */
export function titleOf({ header, column }: PreviewColumn): string {
  return header === null || header === '' ? `Column ${column + 1}` : header
}

function Values({ values }: { readonly values: readonly string[] }): JSX.Element {
  return (
    <ul>
      {values.map((value, index) => (
        <li key={index}>
          <Foreign text={value} clip />
        </li>
      ))}
    </ul>
  )
}

function TakenFor({
  column,
  field,
  fields,
  onChange,
}: {
  readonly column: PreviewColumn
  readonly field: string
  readonly fields: readonly string[]
  readonly onChange: (field: string) => void
}): JSX.Element {
  const id = useId()
  return (
    <>
      <label class="unseen" for={id}>
        What “{visibleText(titleOf(column))}” is taken for
      </label>
      <select
        id={id}
        class="input compact"
        value={field}
        onChange={(event) => onChange(event.currentTarget.value)}
      >
        <option value="">Carried along</option>
        {fields.map((name) => (
          <option key={name} value={name}>
            {FIELD_NAMES[name] ?? name}
          </option>
        ))}
      </select>
    </>
  )
}
