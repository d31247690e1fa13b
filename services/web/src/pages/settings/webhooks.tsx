import type { WebhookWithSecret } from '@plumbline/contract/webhook'
import { useQuery, useQueryClient } from '@tanstack/preact-query'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { callJson, sentenceOf } from '../../api/http.ts'
import { webhooksQuery } from '../../api/webhooks.ts'
import { Skeleton, Card, Notice } from '../../components/page.tsx'
import { Table } from '../../components/table.tsx'
import { Foreign } from '../../components/text.tsx'
import { WebhookForm, type WebhookInput } from '../../components/webhook-form.tsx'
import { WebhookSecret } from '../../components/webhook-secret.tsx'
import { WebhookState } from '../../components/webhook-state.tsx'
import { useMay } from '../../session.tsx'
import { EVENT_WORDS } from '../../webhook-words.ts'

/** Default events of a new endpoint. */
const DEFAULT_INPUT: WebhookInput = { url: '', events: ['batch.completed', 'batch.failed'] }

/** The customer's webhook endpoints, each with a page. */
export function Webhooks(): JSX.Element {
  const queries = useQueryClient()
  const mayChange = useMay('member')
  const [made, setMade] = useState<WebhookWithSecret | null>(null)
  const { data, error } = useQuery(webhooksQuery)
  const make = async (input: WebhookInput): Promise<void> => {
    setMade(await callJson<WebhookWithSecret>('POST', '/v1/webhooks', input))
    await queries.invalidateQueries({ queryKey: webhooksQuery.queryKey })
  }
  return (
    <Card title="Webhooks">
      <p class="muted">Your server receives a message when a batch ends or credits run low.</p>
      {error !== null && <Notice tone="bad">{sentenceOf(error)}</Notice>}
      {made !== null && <WebhookSecret secret={made.secret} />}
      {data === undefined && error === null && <Skeleton />}
      {data !== undefined && data.data.length > 0 && (
        <Table
          caption="Webhooks"
          rows={data.data}
          keyOf={({ id }) => id}
          isStacked
          columns={[
            {
              title: 'Address',
              cell: ({ id, url }) => (
                <a href={`/app/settings/webhooks/${id}`}>
                  <Foreign text={url} clip />
                </a>
              ),
            },
            {
              title: 'Events',
              cell: ({ events }) => events.map((event) => EVENT_WORDS[event]).join(', '),
            },
            {
              title: 'State',
              isTight: true,
              cell: (endpoint) => <WebhookState endpoint={endpoint} />,
            },
          ]}
        />
      )}
      {mayChange && data !== undefined && (
        <details class="details">
          <summary>Add a webhook</summary>
          {/* Emptied once the endpoint is made. */}
          <WebhookForm key={made?.id} input={DEFAULT_INPUT} action="Add" onSave={make} />
        </details>
      )}
    </Card>
  )
}
