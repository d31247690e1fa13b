import type { JSX } from 'preact'
import { LinkButton } from '../../components/button.tsx'
import { DownloadLink } from '../../components/download-link.tsx'
import { Card } from '../../components/page.tsx'
import { useMay } from '../../session.tsx'

/** Export and erasure of stored data. */
export function StoredData(): JSX.Element {
  const mayErase = useMay('owner')
  return (
    <Card title="What is kept">
      <p class="muted">
        Batches with their results, lookups, messages to webhooks, members, credits: all of it as
        one ZIP file. Erase the values of a person who asks to be forgotten.
      </p>
      <div class="row">
        <DownloadLink href="/v1/export">Download all of it</DownloadLink>
        <LinkButton href="/app/settings/erase">
          {mayErase ? 'Erase values' : 'Receipts of erasures'}
        </LinkButton>
      </div>
    </Card>
  )
}
