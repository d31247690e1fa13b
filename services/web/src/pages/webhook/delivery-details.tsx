import type { WebhookDelivery } from '@plumbline/contract/webhook'
import { WEBHOOK_RESPONSE_BYTES } from '@plumbline/contract/webhook-limits'
import type { JSX } from 'preact'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Facts } from '../../components/table.tsx'
import { Foreign, Time, visibleLines } from '../../components/text.tsx'
import * as format from '../../format.ts'
import { messageWords } from '../../webhook-words.ts'

/** All details of a delivery: request and response. */
export function DeliveryDetails({
  delivery,
  onClose,
}: {
  readonly delivery: WebhookDelivery
  readonly onClose: () => void
}): JSX.Element {
  const { request, response, error } = delivery
  return (
    <Dialog title={messageWords(delivery.type)} wide onClose={onClose}>
      {(close) => (
        <>
          <Facts long facts={factsOf(delivery)} />
          <h3>Sent</h3>
          <Lines text={indented(request.body)} />
          <h3>Came back</h3>
          {response === null ? (
            <p class="muted">
              <Foreign text={error ?? 'Nothing yet.'} />
            </p>
          ) : (
            <Lines text={response.body === '' ? 'An empty body.' : response.body} />
          )}
          {response !== null && response.body.length >= WEBHOOK_RESPONSE_BYTES && (
            <p class="muted small">Its beginning; the rest is not stored.</p>
          )}
          <div class="row end">
            <Button onClick={close}>Close</Button>
          </div>
        </>
      )}
    </Dialog>
  )
}

function factsOf(delivery: WebhookDelivery): readonly (readonly [string, JSX.Element | string])[] {
  const { request, response, attempts, attempted_at: at, duration_ms: ms } = delivery
  return [
    ['Address', <Foreign key="url" text={request.url} />],
    ['Status', response === null ? 'None' : String(response.status)],
    ['Attempts', format.number(attempts)],
    ...(at === null ? [] : ([['Last attempt', <Time key="at" at={at} />]] as const)),
    ...(ms === null ? [] : ([['It took', `${format.number(ms)} ms`]] as const)),
    ...(delivery.next_attempt_at === null
      ? []
      : ([['Next attempt', <Time key="next" at={delivery.next_attempt_at} />]] as const)),
    ['Message', <Foreign key="id" text={delivery.webhook_id} />],
  ]
}

/** Preformatted lines, which scroll if there are many. */
function Lines({ text }: { readonly text: string }): JSX.Element {
  return (
    // What scrolls must be reached by keyboard.
    <pre class="code fold short" dir="auto" tabIndex={0}>
      {visibleLines(text)}
    </pre>
  )
}

/** JSON with its parts on lines of their own; any other text as it is. */
function indented(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2)
  } catch {
    return body
  }
}
