import type { WebhookView, WebhookWithSecret } from '@plumbline/contract/webhook'
import { WEBHOOK_ROTATION_HOURS } from '@plumbline/contract/webhook-limits'
import { useQuery, useQueryClient } from '@tanstack/preact-query'
import { useLocation } from 'preact-iso'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { callJson, RefusedCall, sentenceOf } from '../api/http.ts'
import { readWebhook, webhookKey, webhookPath, webhooksQuery } from '../api/webhooks.ts'
import { Button } from '../components/button.tsx'
import { Confirm } from '../components/confirm.tsx'
import { Skeleton, Card, Notice, Page, Said } from '../components/page.tsx'
import { Facts } from '../components/table.tsx'
import { Foreign, Time } from '../components/text.tsx'
import { WebhookForm } from '../components/webhook-form.tsx'
import { WebhookSecret } from '../components/webhook-secret.tsx'
import { WebhookState } from '../components/webhook-state.tsx'
import type { PageProps } from '../page-props.ts'
import { useMay } from '../session.tsx'
import { useSubmission } from '../submit.ts'
import { EVENT_WORDS } from '../webhook-words.ts'
import { Deliveries } from './webhook/deliveries.tsx'

/** One endpoint: its events, its secret, and its deliveries. */
export function Webhook({ id }: PageProps): JSX.Element {
  const { data, error } = useQuery({
    queryKey: webhookKey(id),
    queryFn: async ({ signal }) => await readWebhook(id, signal),
  })
  if (data === undefined) {
    return (
      <Page title="Webhook">
        {error === null ? (
          <Card>
            <Skeleton rows={6} />
          </Card>
        ) : (
          <Notice tone="bad" actions={<a href="/app/settings">Settings</a>}>
            {error instanceof RefusedCall && error.status === 404
              ? 'There is no such webhook in this account: it was removed, or belongs to another.'
              : sentenceOf(error)}
          </Notice>
        )}
      </Page>
    )
  }
  return <Endpoint endpoint={data} fault={error === null ? null : sentenceOf(error)} />
}

/** Why an endpoint is disabled. */
const WHY_OFF = {
  gone: 'It responded that it is gone (410).',
  failing: 'Nothing arrived there for five days.',
  by_request: 'It was disabled by a user.',
} as const

function Endpoint({
  endpoint,
  fault: readFault,
}: {
  readonly endpoint: WebhookView
  readonly fault: string | null
}): JSX.Element {
  const mayChange = useMay('member')
  const queries = useQueryClient()
  const { isBusy, fault, run } = useSubmission()
  const [said, setSaid] = useState<string | null>(null)
  const { id, url, enabled } = endpoint
  const change = async (what: object): Promise<void> => {
    setSaid(null)
    const changed = await callJson<WebhookView>('PATCH', webhookPath(id), what)
    queries.setQueryData(webhookKey(id), changed)
    void queries.invalidateQueries({ queryKey: webhooksQuery.queryKey })
    setSaid('It is changed.')
  }
  const test = async (): Promise<void> => {
    setSaid(null)
    await callJson('POST', `${webhookPath(id)}/test`)
    await queries.invalidateQueries({ queryKey: webhookKey(id) })
    setSaid('A test message is on its way; what comes back is shown below.')
  }
  return (
    <Page
      title="Webhook"
      lead={
        <>
          <WebhookState endpoint={endpoint} /> <Foreign text={url} clip />
        </>
      }
      actions={
        mayChange && (
          <>
            {enabled && (
              <Button busy={isBusy} onClick={() => void run(test)}>
                Send a test
              </Button>
            )}
            <Remove endpoint={endpoint} />
          </>
        )
      }
    >
      {(fault ?? readFault) !== null && <Notice tone="bad">{fault ?? readFault}</Notice>}
      {said !== null && <Said>{said}</Said>}
      {!enabled && (
        <Notice
          tone="warn"
          actions={
            mayChange && (
              <Button
                busy={isBusy}
                onClick={() => void run(async () => await change({ enabled: true }))}
              >
                Switch it on
              </Button>
            )
          }
        >
          Nothing is sent there. {WHY_OFF[endpoint.disabled_reason ?? 'by_request']} What waits is
          sent once it is on again.
        </Notice>
      )}
      <Card
        title="What it is told of"
        actions={
          mayChange &&
          enabled && (
            <Button
              small
              busy={isBusy}
              onClick={() => void run(async () => await change({ enabled: false }))}
            >
              Switch it off
            </Button>
          )
        }
      >
        {mayChange ? (
          <WebhookForm key={endpoint.url} input={endpoint} action="Save" onSave={change} />
        ) : (
          <Facts
            facts={[
              ['Address', <Foreign key="url" text={url} />],
              ['Events', endpoint.events.map((event) => EVENT_WORDS[event]).join(', ')],
              ['Since', <Time key="at" at={endpoint.created_at} dayOnly />],
            ]}
          />
        )}
      </Card>
      <Deliveries endpoint={endpoint} />
      {mayChange && <Rotate id={id} />}
    </Page>
  )
}

function Remove({ endpoint: { id, url } }: { readonly endpoint: WebhookView }): JSX.Element {
  const queries = useQueryClient()
  const { route } = useLocation()
  const [isAsking, setAsking] = useState(false)
  const { isBusy, fault, run } = useSubmission()
  const remove = async (): Promise<void> => {
    await callJson('DELETE', webhookPath(id))
    queries.removeQueries({ queryKey: webhookKey(id) })
    await queries.invalidateQueries({ queryKey: webhooksQuery.queryKey })
    route('/app/settings', true)
  }
  return (
    <>
      <Button kind="danger" busy={isBusy} onClick={() => setAsking(true)}>
        Remove
      </Button>
      {fault !== null && <Notice tone="bad">{fault}</Notice>}
      {isAsking && (
        <Confirm
          title="Remove this webhook?"
          action="Remove it"
          onClose={() => setAsking(false)}
          onConfirm={() => void run(remove)}
        >
          <p>
            <Foreign text={url} />
          </p>
          <p>It receives nothing more, and its messages are no longer listed.</p>
        </Confirm>
      )}
    </>
  )
}

/** Replaces a secret that others may know. */
function Rotate({ id }: { readonly id: string }): JSX.Element {
  const [isAsking, setAsking] = useState(false)
  const [secret, setSecret] = useState<string | null>(null)
  const { isBusy, fault, run } = useSubmission()
  const rotate = async (): Promise<void> => {
    const made = await callJson<WebhookWithSecret>('POST', `${webhookPath(id)}/rotate`)
    setSecret(made.secret)
  }
  return (
    <Card title="Secret">
      {fault !== null && <Notice tone="bad">{fault}</Notice>}
      {secret !== null && <WebhookSecret secret={secret} />}
      <div class="row spread">
        <p class="muted grow">
          With it your program makes sure that a message is from here. The old secret signs beside a
          new one for {WEBHOOK_ROTATION_HOURS} hours.
        </p>
        <Button busy={isBusy} onClick={() => setAsking(true)}>
          Replace secret
        </Button>
      </div>
      {isAsking && (
        <Confirm
          title="Replace the secret?"
          action="Replace it"
          onClose={() => setAsking(false)}
          onConfirm={() => void run(rotate)}
        >
          <p>
            Messages carry the signature of the old secret, too, for {WEBHOOK_ROTATION_HOURS} hours,
            then that of the new one alone. Give the new one to your program by then.
          </p>
        </Confirm>
      )}
    </Card>
  )
}
