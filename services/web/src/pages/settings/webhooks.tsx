import type {
  WebhookEvent,
  WebhookList,
  WebhookView,
  WebhookWithSecret,
} from '@plumbline/contract/webhook'
import { useQuery, useQueryClient } from '@tanstack/preact-query'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { callJson, sentenceOf } from '../../api/http.ts'
import { Button } from '../../components/button.tsx'
import { CopyButton } from '../../components/copy.tsx'
import { CheckField, Field, Form } from '../../components/field.tsx'
import { Bones, Card, Notice } from '../../components/page.tsx'
import { Table } from '../../components/table.tsx'
import { Foreign, Time } from '../../components/text.tsx'
import { useMay } from '../../session.tsx'
import { useSubmission } from '../../submit.ts'

const KEY = ['webhooks']

/** What an endpoint can be told of, in words. */
const EVENTS: Readonly<Record<WebhookEvent, string>> = {
  'batch.ready': 'A batch is ready to start',
  'batch.completed': 'A batch has completed',
  'batch.failed': 'A batch has failed',
  'batch.canceled': 'A batch was canceled',
  'lookup.completed': 'A lookup in the background has ended',
  'credits.low': 'Credits are low',
  'credits.exhausted': 'Credits have run out',
  'key.replaced': 'A key was replaced',
}

/** Addresses of the customer's own that are told what happens. */
export function Webhooks(): JSX.Element {
  const queries = useQueryClient()
  const mayChange = useMay('member')
  const [made, setMade] = useState<WebhookWithSecret | null>(null)
  const [said, setSaid] = useState<string | null>(null)
  const { isBusy, fault, run } = useSubmission()
  const { data, error } = useQuery({
    queryKey: KEY,
    queryFn: async ({ signal }) =>
      await callJson<WebhookList>('GET', '/v1/webhooks', undefined, { signal }),
  })
  const act = (work: () => Promise<unknown>, sentence: string): void => {
    void run(async () => {
      setSaid(null)
      await work()
      setSaid(sentence)
      await queries.invalidateQueries({ queryKey: KEY })
    })
  }
  return (
    <Card title="Webhooks">
      <p class="muted">An address of yours is told when a batch ends or credits run low.</p>
      {fault !== null && <Notice tone="bad">{fault}</Notice>}
      {error !== null && <Notice tone="bad">{sentenceOf(error)}</Notice>}
      {said !== null && <Notice tone="good">{said}</Notice>}
      {made !== null && <Secret made={made} />}
      {data === undefined && error === null && <Bones />}
      {data !== undefined && data.data.length > 0 && (
        <Endpoints
          endpoints={data.data}
          mayChange={mayChange}
          busy={isBusy}
          onTest={({ id }) =>
            act(
              async () => await callJson('POST', `/v1/webhooks/${id}/test`),
              'A test message is on its way.',
            )
          }
          onRemove={({ id }) =>
            act(
              async () => await callJson('DELETE', `/v1/webhooks/${id}`),
              'It is told nothing any more.',
            )
          }
        />
      )}
      {mayChange && data !== undefined && (
        <NewEndpoint
          onMade={(answer) => {
            setMade(answer)
            void queries.invalidateQueries({ queryKey: KEY })
          }}
        />
      )}
    </Card>
  )
}

function Endpoints({
  endpoints,
  mayChange,
  busy,
  onTest,
  onRemove,
}: {
  readonly endpoints: readonly WebhookView[]
  readonly mayChange: boolean
  readonly busy: boolean
  readonly onTest: (endpoint: WebhookView) => void
  readonly onRemove: (endpoint: WebhookView) => void
}): JSX.Element {
  return (
    <Table
      caption="Webhooks"
      rows={endpoints}
      keyOf={({ id }) => id}
      columns={[
        { title: 'Address', cell: ({ url }) => <Foreign text={url} /> },
        { title: 'Told of', cell: ({ events }) => events.map((event) => EVENTS[event]).join(', ') },
        { title: 'State', isTight: true, cell: (endpoint) => <State endpoint={endpoint} /> },
        {
          title: 'Change',
          isTight: true,
          cell: (endpoint) =>
            mayChange && (
              <span class="row">
                <Button
                  small
                  busy={busy}
                  label={`Test ${endpoint.url}`}
                  onClick={() => onTest(endpoint)}
                >
                  Test
                </Button>
                <Button
                  small
                  busy={busy}
                  label={`Remove ${endpoint.url}`}
                  onClick={() => onRemove(endpoint)}
                >
                  Remove
                </Button>
              </span>
            ),
        },
      ]}
    />
  )
}

function State({ endpoint }: { readonly endpoint: WebhookView }): JSX.Element {
  if (!endpoint.enabled) return <span class="badge bad">Switched off</span>
  if (endpoint.failing_since === null) return <span class="badge good">Arrives</span>
  return (
    <span class="badge warn">
      Fails since <Time at={endpoint.failing_since} dayOnly />
    </span>
  )
}

function Secret({ made }: { readonly made: WebhookWithSecret }): JSX.Element {
  return (
    <div class="stack tight">
      <Notice tone="warn">
        The secret that signs the messages is shown this once; keep it where your program reads it.
      </Notice>
      <pre class="code fold">{made.secret}</pre>
      <CopyButton text={made.secret} name="Copy the secret" />
    </div>
  )
}

function NewEndpoint({
  onMade,
}: {
  readonly onMade: (made: WebhookWithSecret) => void
}): JSX.Element {
  const [url, setUrl] = useState('')
  const [events, setEvents] = useState<readonly string[]>(['batch.completed', 'batch.failed'])
  const { isBusy, fault, run } = useSubmission()
  const make = async (): Promise<void> => {
    onMade(await callJson<WebhookWithSecret>('POST', '/v1/webhooks', { url, events }))
    setUrl('')
  }
  return (
    <details class="details">
      <summary>Tell an address</summary>
      <Form onSubmit={() => void run(make)}>
        {fault !== null && <Notice tone="bad">{fault}</Notice>}
        <Field
          label="Address"
          value={url}
          onInput={setUrl}
          maxLength={1_000}
          placeholder="https://example.com/plumbline"
          required
        />
        <fieldset class="fieldset">
          <legend class="legend">Of what</legend>
          {Object.entries(EVENTS).map(([event, text]) => (
            <CheckField
              key={event}
              label={text}
              checked={events.includes(event)}
              onChange={(isOn) =>
                setEvents(isOn ? [...events, event] : events.filter((one) => one !== event))
              }
            />
          ))}
        </fieldset>
        <div>
          <Button type="submit" busy={isBusy} disabled={events.length === 0}>
            Tell it
          </Button>
        </div>
      </Form>
    </details>
  )
}
