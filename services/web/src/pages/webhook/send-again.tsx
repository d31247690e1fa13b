import type { WebhookReplayed } from '@plumbline/contract/webhook'
import { useQueryClient } from '@tanstack/preact-query'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { callJson } from '../../api/http.ts'
import { webhookKey, webhookPath } from '../../api/webhooks.ts'
import { Button } from '../../components/button.tsx'
import { Field, Form } from '../../components/field.tsx'
import { Notice, Said } from '../../components/page.tsx'
import * as format from '../../format.ts'
import { useSubmission } from '../../submit.ts'

/** Sends all messages since a time again, for a receiver that was down or lost messages. */
export function SendAgain({ id }: { readonly id: string }): JSX.Element {
  const queries = useQueryClient()
  const [since, setSince] = useState('')
  const [said, setSaid] = useState<string | null>(null)
  const { isBusy, fault, run } = useSubmission()
  const send = async (): Promise<void> => {
    setSaid(null)
    const body = { since: new Date(since).toISOString() }
    const answer = await callJson<WebhookReplayed>('POST', `${webhookPath(id)}/replay`, body)
    setSaid(sayCount(answer.replayed))
    await queries.invalidateQueries({ queryKey: webhookKey(id) })
  }
  return (
    <details class="details">
      <summary>Send again by time</summary>
      <Form onSubmit={() => void run(send)}>
        {fault !== null && <Notice tone="bad">{fault}</Notice>}
        {said !== null && <Said>{said}</Said>}
        <div class="row bottom">
          <Field label="Since" type="datetime-local" value={since} onInput={setSince} required />
          <Button type="submit" busy={isBusy}>
            Send all again
          </Button>
        </div>
      </Form>
    </details>
  )
}

function sayCount(count: number): string {
  return count === 0
    ? 'Nothing to send again since then.'
    : `On their way again: ${format.counted(count, 'message')}.`
}
