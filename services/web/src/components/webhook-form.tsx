import { WEBHOOK_URL_CHARS } from '@plumbline/contract/webhook-limits'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { useSubmission } from '../submit.ts'
import { EVENT_WORDS } from '../webhook-words.ts'
import { Button } from './button.tsx'
import { CheckField, Field, Form } from './field.tsx'
import { Notice } from './page.tsx'

/** Input of the form: address and events of an endpoint. */
export interface WebhookInput {
  readonly url: string
  readonly events: readonly string[]
}

/** Form for the address and events of an endpoint. */
export function WebhookForm({
  input,
  action,
  onSave,
}: {
  /** Initial values. */
  readonly input: WebhookInput
  readonly action: string
  readonly onSave: (input: WebhookInput) => Promise<void>
}): JSX.Element {
  const [url, setUrl] = useState(input.url)
  const [events, setEvents] = useState(input.events)
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
        <legend class="legend">Events</legend>
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
