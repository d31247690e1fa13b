import type { WebhookDelivery, WebhookView } from '@plumbline/contract/webhook'
import {
  DELIVERY_STATES,
  WEBHOOK_KEPT_DAYS,
  type DeliveryState,
} from '@plumbline/contract/webhook-limits'
import { useQueryClient } from '@tanstack/preact-query'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { callJson } from '../../api/http.ts'
import { useList } from '../../api/list.ts'
import { readDeliveries, webhookKey, webhookPath } from '../../api/webhooks.ts'
import { useAnnounce } from '../../components/announcer.tsx'
import { Button } from '../../components/button.tsx'
import { SelectField } from '../../components/field.tsx'
import { ListHead, ShowEarlier } from '../../components/list-parts.tsx'
import { Card, Empty, Notice } from '../../components/page.tsx'
import { Table } from '../../components/table.tsx'
import { Time } from '../../components/text.tsx'
import * as format from '../../format.ts'
import { useMay } from '../../session.tsx'
import { useSubmission } from '../../submit.ts'
import { DELIVERY_WORDS, messageWords } from '../../webhook-words.ts'
import { DeliveryDetails } from './delivery-details.tsx'
import { SendAgain } from './send-again.tsx'

/** Milliseconds between two reads of the deliveries while one on the first page is pending. */
const EVERY_MS = 3_000

/** Deliveries of an endpoint with the responses, and actions to send them again. */
export function Deliveries({ endpoint }: { readonly endpoint: WebhookView }): JSX.Element {
  const { id, enabled } = endpoint
  const queries = useQueryClient()
  const announce = useAnnounce()
  const maySend = useMay('member') && enabled
  const [state, setState] = useState<DeliveryState | ''>('')
  const [opened, setOpened] = useState<WebhookDelivery | null>(null)
  const { isBusy, fault, run } = useSubmission()
  const deliveries = useList({
    queryKey: [...webhookKey(id), 'deliveries', state],
    readPage: async (cursor, signal) => await readDeliveries(id, { status: state, cursor }, signal),
    isMoving: ({ status }) => status === 'pending',
    everyMs: EVERY_MS,
  })
  const { data } = deliveries
  const sendAgain = async (delivery: WebhookDelivery): Promise<void> => {
    await callJson('POST', `${webhookPath(id)}/deliveries/${delivery.id}/replay`)
    await queries.invalidateQueries({ queryKey: webhookKey(id) })
    announce('It is being sent again.')
  }
  return (
    <Card
      title="Deliveries"
      actions={
        <SelectField
          label="Show"
          value={state}
          choices={[
            { value: '', text: 'All' },
            ...DELIVERY_STATES.map((value) => ({ value, text: DELIVERY_WORDS[value] })),
          ]}
          onChange={(value) => setState(DELIVERY_STATES.find((one) => one === value) ?? '')}
        />
      }
    >
      {fault !== null && <Notice tone="bad">{fault}</Notice>}
      <ListHead list={deliveries} rows={5} />
      {data?.length === 0 && (
        <Empty title={state === '' ? 'Nothing sent yet' : 'None of these'}>
          {state === ''
            ? `What is sent is listed here for ${WEBHOOK_KEPT_DAYS} days, with each response. A test shows whether it arrives.`
            : `No delivery of the last ${WEBHOOK_KEPT_DAYS} days is in this state.`}
        </Empty>
      )}
      {data !== undefined && data.length > 0 && (
        <DeliveryTable
          deliveries={data}
          busy={isBusy}
          onOpen={setOpened}
          onAgain={
            maySend ? (delivery) => void run(async () => await sendAgain(delivery)) : undefined
          }
        />
      )}
      <ShowEarlier list={deliveries}>Show earlier deliveries</ShowEarlier>
      {maySend && <SendAgain id={id} />}
      {opened !== null && <DeliveryDetails delivery={opened} onClose={() => setOpened(null)} />}
    </Card>
  )
}

function DeliveryTable({
  deliveries,
  busy,
  onOpen,
  onAgain,
}: {
  readonly deliveries: readonly WebhookDelivery[]
  readonly busy: boolean
  readonly onOpen: (delivery: WebhookDelivery) => void
  /** Action of sending the message again; undefined if that is not possible. */
  readonly onAgain: ((delivery: WebhookDelivery) => void) | undefined
}): JSX.Element {
  return (
    <Table
      caption="Deliveries, newest first"
      rows={deliveries}
      keyOf={({ id }) => id}
      columns={[
        { title: 'Message', narrow: 'head', cell: ({ type }) => messageWords(type) },
        {
          title: 'State',
          isTight: true,
          narrow: 'mark',
          cell: (delivery) => <State delivery={delivery} />,
        },
        {
          title: 'Came back',
          isTight: true,
          narrow: 'foot',
          cell: (delivery) => cameBack(delivery),
        },
        {
          title: 'Attempts',
          isNumber: true,
          narrow: 'foot',
          cell: ({ attempts }) => format.number(attempts),
        },
        {
          title: 'Made',
          isTight: true,
          narrow: 'foot',
          cell: ({ created_at: at }) => <Time at={at} />,
        },
        {
          title: 'Actions',
          isTight: true,
          narrow: 'line',
          cell: (delivery) => (
            <span class="row">
              <Button
                small
                label={`Look at ${sayWhich(delivery)}`}
                onClick={() => onOpen(delivery)}
              >
                Look
              </Button>
              {onAgain !== undefined && delivery.attempts > 0 && (
                <Button
                  small
                  busy={busy}
                  label={`Send again ${sayWhich(delivery)}`}
                  onClick={() => onAgain(delivery)}
                >
                  Send again
                </Button>
              )}
            </span>
          ),
        },
      ]}
    />
  )
}

function State({
  delivery: { status, attempts },
}: {
  readonly delivery: WebhookDelivery
}): JSX.Element {
  if (status === 'pending' && attempts > 0) return <span class="badge warn">Tried again later</span>
  const tone = { pending: 'live', delivered: 'good', failed: 'bad' }[status]
  return <span class={`badge ${tone}`}>{DELIVERY_WORDS[status]}</span>
}

/** The accessible name of a button, which names its delivery. */
function sayWhich({ type, created_at: at, id }: WebhookDelivery): string {
  return `“${messageWords(type)}” of ${format.time(at)} (${id.slice(-4)})`
}

/** The status of the endpoint's response, or why there was none. */
function cameBack({ response, attempts }: WebhookDelivery): string {
  if (response !== null) return String(response.status)
  return attempts === 0 ? 'Nothing yet' : 'No answer'
}
