import type { BatchView } from '@plumbline/contract/batch-view'
import type { JSX } from 'preact'
import { LinkButton } from '../../components/button.tsx'
import { Card } from '../../components/page.tsx'

/** States in which a batch has ended and its result is final. */
const ENDED: readonly BatchView['status'][] = ['completed', 'canceled']

/** The result as a file. */
export function Downloads({ batch }: { readonly batch: BatchView }): JSX.Element | null {
  const { id, status, rows } = batch
  if (status === 'expired' || status === 'failed') return null
  const path = `/v1/batches/${encodeURIComponent(id)}`
  if (!ENDED.includes(status)) {
    return (
      <Card title="Result">
        <p class="muted">The whole result can be downloaded once the batch has ended.</p>
        <div class="row">
          <LinkButton href={`${path}/results?format=csv`} download>
            Download so far
          </LinkButton>
        </div>
      </Card>
    )
  }
  return (
    <Card title="Result">
      <p class="muted">Every row of your file, in its order, with its result beside it.</p>
      <div class="row">
        <LinkButton href={`${path}/results?format=csv`} kind="primary" download>
          Download CSV
        </LinkButton>
        <LinkButton href={`${path}/results?format=xlsx`} download>
          Download XLSX
        </LinkButton>
        <LinkButton href={`${path}/results?format=ndjson`} download>
          Download NDJSON
        </LinkButton>
        {rows.refused > 0 && (
          <LinkButton href={`${path}/refused`} download>
            Refused rows
          </LinkButton>
        )}
      </div>
    </Card>
  )
}
