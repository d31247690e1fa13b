import type { AccountView } from '@plumbline/contract/account'
import type { BatchView } from '@plumbline/contract/batch-view'
import type { UsageView } from '@plumbline/contract/usage'
import { useQuery } from '@tanstack/preact-query'
import type { JSX } from 'preact'
import { sentenceOf } from '../api/http.ts'
import {
  accountQuery,
  recentBatchesQuery,
  runningBatchesQuery,
  usageQuery,
} from '../api/queries.ts'
import { attentionOf } from '../attention.ts'
import { Balance } from '../components/balance.tsx'
import { batchTitle, PRODUCT_NAMES, Progress, StateBadge } from '../components/batch-state.tsx'
import { BatchTable } from '../components/batch-table.tsx'
import { Disclosure } from '../components/disclosure.tsx'
import { NewBatchButton } from '../components/new-batch-button.tsx'
import { Skeleton, Card, Empty, Notice, Page } from '../components/page.tsx'
import { Table } from '../components/table.tsx'
import { Foreign } from '../components/text.tsx'
import { UsageBars } from '../components/usage-bars.tsx'
import { dayAfter, todayIn } from '../days.ts'
import * as format from '../format.ts'
import { useProgressiveRendering } from '../progressive-rendering.ts'
import { useMay, useSession } from '../session.tsx'
import { Unverified } from './overview/unverified.tsx'

/** Balance, usage, running and recent batches. */
export function Overview(): JSX.Element {
  const account = useQuery(accountQuery)
  const batches = useQuery(recentBatchesQuery)
  const running = useQuery(runningBatchesQuery)
  const use = useQuery(useOfDays())
  const list = batches.data?.data
  // By then the heights of the parts above are known, so that nothing that is shown moves down.
  const isRead = !account.isPending && !batches.isPending && !running.isPending
  return (
    <Page title="Overview" actions={<NewBatchButton />}>
      <div class="columns">
        <Balance actions={<a href="/app/credits">All moves</a>} />
        <Card title="Running now">
          <Running list={running.data?.data} error={running.error} />
        </Card>
      </div>
      {isRead && (
        <>
          <Unverified />
          <WhatWaits account={account.data} batches={list ?? []} />
          <Use data={use.data} error={use.error} />
          <LastBatches list={list} error={batches.error} />
        </>
      )}
    </Page>
  )
}

/** The running batches with their progress. */
function Running({
  list,
  error,
}: {
  readonly list: readonly BatchView[] | undefined
  readonly error: Error | null
}): JSX.Element {
  if (list === undefined) {
    return error === null ? (
      <Skeleton rows={1} />
    ) : (
      <p class="muted">Not known while batches cannot be read.</p>
    )
  }
  if (list.length === 0) return <p class="muted">Nothing runs at the moment.</p>
  return (
    <>
      {list.map((batch) => (
        <div key={batch.id} class="stack tight">
          <div class="row spread">
            <a href={`/app/batches/${batch.id}`}>
              <Foreign text={batchTitle(batch)} clip />
            </a>
            <StateBadge batch={batch} />
          </div>
          <Progress batch={batch} />
        </div>
      ))}
    </>
  )
}

/** The newest batches, rendered after what is above them. */
function LastBatches({
  list,
  error,
}: {
  readonly list: readonly BatchView[] | undefined
  readonly error: Error | null
}): JSX.Element {
  const isDrawn = useProgressiveRendering(2) === 2
  return (
    <Card title="Last batches" actions={<a href="/app/batches">All batches</a>}>
      {error !== null && <Notice tone="bad">{sentenceOf(error)}</Notice>}
      {list?.length === 0 && <NoBatches />}
      {!isDrawn && list !== undefined && list.length > 0 && <Skeleton rows={6} />}
      {isDrawn && list !== undefined && list.length > 0 && <BatchTable batches={list} />}
    </Card>
  )
}

/** Days of usage that are shown. */
const DAYS = 30

/** Query of the usage of the last days, by the calendar of the account. */
function useOfDays(): ReturnType<typeof usageQuery> {
  const { account } = useSession()
  const to = todayIn(account?.time_zone ?? 'UTC')
  return usageQuery({ from: dayAfter(to, 1 - DAYS), to, by: 'day,product' })
}

function Use({
  data,
  error,
}: {
  readonly data: UsageView | undefined
  readonly error: Error | null
}): JSX.Element {
  return (
    <Card title="Last 30 days" actions={<a href="/app/usage">All usage</a>}>
      {error !== null && <Notice tone="bad">{sentenceOf(error)}</Notice>}
      {data === undefined && error === null && <Skeleton rows={9} />}
      {data?.data.length === 0 && <p class="muted">Nothing was used in these days.</p>}
      {data !== undefined && data.data.length > 0 && (
        <>
          <UsageBars usage={data} />
          <Disclosure summary="As a table">
            {() => (
              <Table
                caption="Credits by day and product"
                rows={data.data}
                keyOf={({ day, product }) => `${day} ${product}`}
                columns={[
                  { title: 'Day', isTight: true, cell: ({ day = '' }) => format.shortDay(day) },
                  {
                    title: 'Product',
                    cell: ({ product }) => product !== undefined && PRODUCT_NAMES[product],
                  },
                  { title: 'Credits', isNumber: true, cell: (row) => format.number(row.credits) },
                ]}
              />
            )}
          </Disclosure>
        </>
      )}
    </Card>
  )
}

function NoBatches(): JSX.Element {
  if (!useMay('member'))
    return <Empty title="No batch yet">An owner or member can submit one.</Empty>
  return (
    <Empty title="No batch yet">
      Submit a file of emails, phones, IPs or domains, and see what is known about each row. You can
      also <a href="/app/try">look a single value up</a>, or <a href="/app/keys">make a key</a> for
      your own programs.
    </Empty>
  )
}

/** The notices that need the user's attention. */
function WhatWaits({
  account,
  batches,
}: {
  readonly account: AccountView | undefined
  readonly batches: readonly BatchView[]
}): JSX.Element | null {
  const all = attentionOf({ account, batches, now: Date.now() })
  if (all.length === 0) return null
  return (
    <div class="stack tight">
      {all.map(({ text, action }) => (
        <Notice
          key={text}
          tone="warn"
          actions={action === null ? undefined : <a href={action.href}>{action.label}</a>}
        >
          {text}
        </Notice>
      ))}
    </div>
  )
}
