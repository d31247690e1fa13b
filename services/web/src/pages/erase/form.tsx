import type { EraseRequest, ErasureView } from '@plumbline/contract/erasure'
import { CHECKS } from '@plumbline/contract/products'
import { useQueryClient } from '@tanstack/preact-query'
import { useLocation } from 'preact-iso'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { erasureKey, erasuresKey, receiptHref } from '../../api/erasures.ts'
import { callJson } from '../../api/http.ts'
import { Button } from '../../components/button.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { CheckField, Form, TextField } from '../../components/field.tsx'
import { Card, Notice } from '../../components/page.tsx'
import { Foreign } from '../../components/text.tsx'
import { useSubmission } from '../../submit.ts'
import { sayValues, valuesByKind, type ValuesByKind } from './values-by-kind.ts'

/** Invalid lines that are shown at most. */
const UNREAD_SHOWN = 3

/** Input of the values to erase, with a confirmation. */
export function EraseForm(): JSX.Element {
  const { route } = useLocation()
  const queries = useQueryClient()
  const [text, setText] = useState('')
  const [takesAddresses, setTakesAddresses] = useState(false)
  const [isAsking, setAsking] = useState(false)
  const { isBusy, fault, run } = useSubmission()
  const values = valuesByKind(text)
  const said = sayValues(values)
  const erase = async (): Promise<void> => {
    const receipt = await callJson<ErasureView>('POST', '/v1/erase', bodyOf(values, takesAddresses))
    setText('')
    setTakesAddresses(false)
    queries.setQueryData(erasureKey(receipt.id), receipt)
    void queries.invalidateQueries({ queryKey: erasuresKey })
    route(receiptHref(receipt.id), true)
    scrollTo(0, 0)
  }
  return (
    <Card title="Values to erase">
      <p class="muted">
        It goes from batches, results, stored responses, cached facts and messages to webhooks
        within 24 hours. Credits stay as they are.
      </p>
      <Form onSubmit={() => setAsking(true)}>
        {fault !== null && <Notice tone="bad">{fault}</Notice>}
        <TextField
          label="Values"
          value={text}
          onInput={setText}
          hint="One a line: email addresses, phone numbers with + and country code, IPs, domains."
        />
        {values.unread.length > 0 && <Unread lines={values.unread} />}
        {values.domain.length > 0 && (
          <CheckField
            label="All addresses at these domains, too"
            checked={takesAddresses}
            onChange={setTakesAddresses}
          />
        )}
        <div class="row">
          <Button
            kind="danger"
            type="submit"
            busy={isBusy}
            disabled={said === '' || values.unread.length > 0}
          >
            Erase
          </Button>
          <span class="muted">{said}</span>
        </div>
      </Form>
      {isAsking && (
        <Confirm
          title="Erase these values?"
          action="Erase them"
          onClose={() => setAsking(false)}
          onConfirm={() => void run(erase)}
        >
          <p>
            {said}
            {takesAddresses && values.domain.length > 0 && ', and all addresses at the domains'}.
            This cannot be undone. Files that you have downloaded are not erased.
          </p>
        </Confirm>
      )}
    </Card>
  )
}

function Unread({ lines }: { readonly lines: readonly string[] }): JSX.Element {
  const more = lines.length - UNREAD_SHOWN
  return (
    <Notice tone="warn">
      No value that can be erased:{' '}
      {lines.slice(0, UNREAD_SHOWN).map((line, index) => (
        <span key={line}>
          {index > 0 && ', '}
          <Foreign text={line} clip />
        </span>
      ))}
      {more > 0 && ` and ${more} more`}. Correct or remove it first.
    </Notice>
  )
}

function bodyOf(values: ValuesByKind, takesAddresses: boolean): EraseRequest {
  const filled = CHECKS.filter((check) => values[check].length > 0)
  return {
    ...Object.fromEntries(filled.map((check) => [check, [...values[check]]])),
    ...(takesAddresses && values.domain.length > 0 ? { include_addresses: true } : {}),
  }
}
