import type { BatchView } from '@plumbline/contract/batch-view'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { batchPath, ENDED } from '../../api/queries.ts'
import { DownloadLink } from '../../components/download-link.tsx'
import { SelectField } from '../../components/field.tsx'
import { Card } from '../../components/page.tsx'
import { rowFilters } from './row-filters.ts'

/** The result as a file, of all rows or of one kind. */
export function Downloads({ batch }: { readonly batch: BatchView }): JSX.Element {
  const [only, setOnly] = useState('')
  const { id, status, rows } = batch
  const path = batchPath(id)
  if (!ENDED.includes(status)) {
    return (
      <Card title="Result">
        <p class="muted">The whole result can be downloaded once the batch has ended.</p>
        <div class="row">
          <DownloadLink href={`${path}/results?format=csv`}>Download so far</DownloadLink>
        </div>
      </Card>
    )
  }
  const kind = only === '' ? '' : `&only=${only}`
  return (
    <Card title="Result">
      <p class="muted">
        Every row of your file, in its order, with its result beside it. For Excel choose XLSX: it
        misreads letters such as é and ü in CSV files.
      </p>
      <SelectField
        label="Rows in the file"
        value={only}
        choices={rowFilters(batch)}
        onChange={setOnly}
      />
      <div class="row">
        <DownloadLink href={`${path}/results?format=csv${kind}`} kind="primary">
          Download CSV
        </DownloadLink>
        <DownloadLink href={`${path}/results?format=xlsx${kind}`}>Download XLSX</DownloadLink>
        <DownloadLink href={`${path}/results?format=ndjson${kind}`}>Download NDJSON</DownloadLink>
        {rows.refused > 0 && <DownloadLink href={`${path}/refused`}>Refused rows</DownloadLink>}
      </div>
    </Card>
  )
}
