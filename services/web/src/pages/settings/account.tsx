import type { AccountSettings as Account } from '@plumbline/contract/app/members'
import { useQuery, useQueryClient } from '@tanstack/preact-query'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { callApp } from '../../api/app-calls.ts'
import { sentenceOf } from '../../api/http.ts'
import { Button } from '../../components/button.tsx'
import { CheckField, Field, Form } from '../../components/field.tsx'
import { Skeleton, Card, Notice, ReservedSpace, Said } from '../../components/page.tsx'
import { Facts } from '../../components/table.tsx'
import { Foreign } from '../../components/text.tsx'
import * as format from '../../format.ts'
import { useStepUp } from '../../step-up.tsx'
import { useMay, useSessionActions } from '../../session.tsx'
import { useSubmission } from '../../submit.ts'

const KEY = ['account-settings']

/** Settings of the account, which an owner can change and others see. */
export function AccountSettings(): JSX.Element {
  const isOwner = useMay('owner')
  const settings = useQuery({
    queryKey: KEY,
    queryFn: async ({ signal }) => await callApp('readAccountSettings', undefined, { signal }),
  })
  const { data, error } = settings
  const [isSaved, setSaved] = useState(false)
  return (
    <Card title="Account">
      {error !== null && <Notice tone="bad">{sentenceOf(error)}</Notice>}
      {data === undefined && error === null && isOwner && (
        <ReservedSpace>
          <AccountForm account={UNREAD} onSaved={setSaved} />
        </ReservedSpace>
      )}
      {data === undefined && error === null && !isOwner && <Skeleton rows={3} />}
      {isSaved && <Said>The settings are saved.</Said>}
      {data !== undefined && isOwner && <AccountForm account={data} onSaved={setSaved} />}
      {data !== undefined && !isOwner && <AccountFacts account={data} />}
    </Card>
  )
}

const UNREAD: Account = {
  id: '',
  name: '',
  time_zone: '',
  retention_days: null,
  daily_spending_limit: null,
  low_credit_mark: null,
  requires_second_factor: false,
}

function AccountFacts({ account }: { readonly account: Account }): JSX.Element {
  return (
    <Facts
      facts={[
        ['Called', <Foreign key="name" text={account.name} />],
        ['Time zone', account.time_zone],
        ['Kept for', format.counted(account.retention_days ?? 30, 'day')],
        [
          'Daily limit',
          account.daily_spending_limit === null
            ? 'None'
            : format.counted(account.daily_spending_limit, 'credit'),
        ],
      ]}
    />
  )
}

function AccountForm({
  account,
  onSaved,
}: {
  readonly account: Account
  /** Called with false when a save begins, and with true when it has succeeded. */
  readonly onSaved: (isSaved: boolean) => void
}): JSX.Element {
  const queries = useQueryClient()
  const withStepUp = useStepUp()
  const { refresh } = useSessionActions()
  const { isBusy, fault, run } = useSubmission()
  // The others may be changed by another owner meanwhile.
  const [edited, setEdited] = useState<Partial<Omit<Account, 'id'>>>({})
  const edit = (change: typeof edited): void => setEdited((before) => ({ ...before, ...change }))
  const shown = { ...account, ...edited }
  const save = async (): Promise<void> => {
    onSaved(false)
    const saved = await withStepUp(async () => await callApp('changeAccount', edited))
    queries.setQueryData(KEY, saved)
    setEdited({})
    onSaved(true)
    await refresh()
  }
  return (
    <Form onSubmit={() => void run(save)}>
      {fault !== null && <Notice tone="bad">{fault}</Notice>}
      <div class="columns">
        <Field
          label="Account"
          value={shown.name}
          onInput={(name) => edit({ name })}
          maxLength={200}
          required
        />
        <Field
          label="Time zone"
          value={shown.time_zone}
          onInput={(zone) => edit({ time_zone: zone })}
          list={Intl.supportedValuesOf('timeZone')}
          hint="The month starts anew at its midnight."
          required
        />
        <Field
          label="Days that batches are kept"
          type="number"
          min={0}
          max={365}
          value={textOf(shown.retention_days)}
          onInput={(days) => edit({ retention_days: numberOf(days) })}
          hint="Empty: 30. Then file and results are erased."
        />
        <Field
          label="Daily spending limit"
          type="number"
          min={0}
          value={textOf(shown.daily_spending_limit)}
          onInput={(limit) => edit({ daily_spending_limit: numberOf(limit) })}
          hint="Credits in a day. Empty: none."
        />
        <Field
          label="Low-credit mark"
          type="number"
          min={1}
          value={textOf(shown.low_credit_mark)}
          onInput={(mark) => edit({ low_credit_mark: numberOf(mark) })}
          hint="Owners are told when fewer credits are left. Empty: never."
        />
      </div>
      <CheckField
        label="Members need a second factor"
        checked={shown.requires_second_factor}
        onChange={(isOn) => edit({ requires_second_factor: isOn })}
      />
      <div>
        <Button kind="primary" type="submit" busy={isBusy}>
          Save
        </Button>
      </div>
    </Form>
  )
}

function textOf(value: number | null): string {
  return value === null ? '' : String(value)
}

/** The number in a field; null if the field is empty. */
function numberOf(text: string): number | null {
  return text.trim() === '' ? null : Number(text)
}
