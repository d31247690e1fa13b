import { WEBHOOK_URL_CHARS } from '@plumbline/contract/webhook-limits'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { useSubmission } from '../submit.ts'
import { EVENT_WORDS } from '../webhook-words.ts'
import { Button } from './button.tsx'
import { CheckField, Field, Form } from './field.tsx'
import { Notice } from './page.tsx'

/** Input of an endpoint: its address, and its events. */
export interface WebhookWish {
  readonly url: string
  readonly events: readonly string[]
}

/** An endpoint's address and events. */
export function WebhookForm({
  wish,
  action,
  onSave,
}: {
  /** Initial values. */
  readonly wish: WebhookWish
  readonly action: string
  readonly onSave: (wish: WebhookWish) => Promise<void>
}): JSX.Element {
  const [url, setUrl] = useState(wish.url)
  const [events, setEvents] = useState(wish.events)
  const { isBusy, fault, run } = useSubmission()
  return (
    <Form onSubmit={() => void run(async () => await onSave({ url, events }))}>
      {fault !== null && <Notice tone="bad">{fault}</Notice>}
      <Field
        label="Address"
        value={url}
        onInput={setUrl}
        maxLength={WEBHOOK_URL_CHARS}
        placeholder="https://example.com/plumbline"
        required
      />
      <fieldset class="fieldset">
        <legend class="legend">Told of</legend>
        <div class="checks">
          {Object.entries(EVENT_WORDS).map(([event, text]) => (
            <CheckField
              key={event}
              label={text}
              checked={events.includes(event)}
              onChange={(isOn) =>
                setEvents(isOn ? [...events, event] : events.filter((one) => one !== event))
              }
            />
          ))}
        </div>
      </fieldset>
      <div>
        <Button type="submit" busy={isBusy} disabled={events.length === 0}>
          {action}
        </Button>
      </div>
    </Form>
  )
}
