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
      {data !== undefined && isOwner && (
        <AccountForm key={JSON.stringify(data)} account={data} onSaved={setSaved} />
      )}
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
  const [name, setName] = useState(account.name)
  const [zone, setZone] = useState(account.time_zone)
  const [days, setDays] = useState(textOf(account.retention_days))
  const [limit, setLimit] = useState(textOf(account.daily_spending_limit))
  const [mark, setMark] = useState(textOf(account.low_credit_mark))
  const [factor, setFactor] = useState(account.requires_second_factor)
  const save = async (): Promise<void> => {
    onSaved(false)
    const saved = await withStepUp(
      async () =>
        await callApp(
          'changeAccount',
          changesOf(account, {
            name,
            time_zone: zone,
            retention_days: numberOf(days),
            daily_spending_limit: numberOf(limit),
            low_credit_mark: numberOf(mark),
            requires_second_factor: factor,
          }),
        ),
    )
    queries.setQueryData(KEY, saved)
    onSaved(true)
    await refresh()
  }
  return (
    <Form onSubmit={() => void run(save)}>
      {fault !== null && <Notice tone="bad">{fault}</Notice>}
      <div class="columns">
        <Field label="Account" value={name} onInput={setName} maxLength={200} required />
        <Field
          label="Time zone"
          value={zone}
          onInput={setZone}
          list={Intl.supportedValuesOf('timeZone')}
          hint="The month starts anew at its midnight."
          required
        />
        <Field
          label="Days that batches are kept"
          type="number"
          min={0}
          max={365}
          value={days}
          onInput={setDays}
          hint="Empty: 30. Then file and results are erased."
        />
        <Field
          label="Daily spending limit"
          type="number"
          min={0}
          value={limit}
          onInput={setLimit}
          hint="Credits in a day. Empty: none."
        />
        <Field
          label="Low-credit mark"
          type="number"
          min={1}
          value={mark}
          onInput={setMark}
          hint="Owners are told when fewer credits are left. Empty: never."
        />
      </div>
      <CheckField label="Members need a second factor" checked={factor} onChange={setFactor} />
      <div>
        <Button kind="primary" type="submit" busy={isBusy}>
          Save
        </Button>
      </div>
    </Form>
  )
}

/** The settings that the user has changed: another owner may have changed others meanwhile. */
function changesOf(before: Account, wanted: Omit<Account, 'id'>): Partial<Omit<Account, 'id'>> {
  const changed = Object.entries(wanted).filter(
    ([name, value]) => value !== before[settingName(name)],
  )
  // Safe because it only leaves out fields of an object of this shape.
  return Object.fromEntries(changed) as Partial<Omit<Account, 'id'>>
}

/** Safe because the names are those of the settings. */
function settingName(name: string): keyof Account {
  return name as keyof Account
}

function textOf(value: number | null): string {
  return value === null ? '' : String(value)
}

/** The number in a field; null if the field is empty. */
function numberOf(text: string): number | null {
  return text.trim() === '' ? null : Number(text)
}
