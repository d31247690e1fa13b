import type { AccountView } from '@plumbline/contract/account'
import type { BatchView } from '@plumbline/contract/batch-view'
import type { UsageView } from '@plumbline/contract/usage'
import { useQuery } from '@tanstack/preact-query'
import type { JSX } from 'preact'
import { sentenceOf } from '../api/http.ts'
import { accountQuery, isMoving, recentBatchesQuery, usageQuery } from '../api/queries.ts'
import { batchTitle, PRODUCT_NAMES, Progress, StateBadge } from '../components/batch-state.tsx'
import { BatchTable } from '../components/batch-table.tsx'
import { Folded } from '../components/folded.tsx'
import { NewBatchButton } from '../components/new-batch-button.tsx'
import { Bones, Card, Empty, Notice, Page, Room } from '../components/page.tsx'
import { Facts, Table } from '../components/table.tsx'
import { Foreign, Time } from '../components/text.tsx'
import { UsageBars } from '../components/usage-bars.tsx'
import { dayAfter, todayIn } from '../days.ts'
import * as format from '../format.ts'
import { useInTurn } from '../in-turn.ts'
import { useSession } from '../session.tsx'

/** Balance, use, what runs and what came last. */
export function Overview(): JSX.Element {
  const account = useQuery(accountQuery)
  const batches = useQuery(recentBatchesQuery)
  const use = useQuery(useOfDays())
  const list = batches.data?.data
  // Heights of what stands above are known by then: nothing that is shown is pushed down.
  const isRead = !account.isPending && !batches.isPending
  const running = list?.filter(({ status }) => isMoving(status)) ?? []
  return (
    <Page title="Overview" actions={<NewBatchButton />}>
      <div class="columns">
        <Card title="Balance" actions={<a href="/app/credits">All moves</a>}>
          {account.error !== null && <Notice tone="bad">{sentenceOf(account.error)}</Notice>}
          {account.data === undefined ? (
            account.error === null && (
              <Room>
                <Balance credits={UNREAD} />
              </Room>
            )
          ) : (
            <Balance credits={account.data.credits} />
          )}
        </Card>
        <Card title="Running now">
          {list === undefined && batches.error === null && <Bones rows={1} />}
          {list === undefined && batches.error !== null && (
            <p class="muted">Not known while batches cannot be read.</p>
          )}
          {list !== undefined && running.length === 0 && (
            <p class="muted">Nothing runs at the moment.</p>
          )}
          {running.map((batch) => (
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
        </Card>
      </div>
      {isRead && (
        <>
          <Attention account={account.data} batches={list ?? []} />
          <Use data={use.data} error={use.error} />
          <LastBatches list={list} error={batches.error} />
        </>
      )}
    </Page>
  )
}

/** The newest batches, drawn once what stands above them is. */
function LastBatches({
  list,
  error,
}: {
  readonly list: readonly BatchView[] | undefined
  readonly error: Error | null
}): JSX.Element {
  const isDrawn = useInTurn(2) === 2
  return (
    <Card title="Last batches" actions={<a href="/app/batches">All batches</a>}>
      {error !== null && <Notice tone="bad">{sentenceOf(error)}</Notice>}
      {list?.length === 0 && <NoBatches />}
      {!isDrawn && list !== undefined && list.length > 0 && <Bones rows={6} />}
      {isDrawn && list !== undefined && list.length > 0 && <BatchTable batches={list} />}
    </Card>
  )
}

/** Days of use that are shown. */
const DAYS = 30

/** What of use is asked for, by the calendar of the account. */
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
      {data === undefined && error === null && <Bones rows={9} />}
      {data?.data.length === 0 && <p class="muted">Nothing was used in these days.</p>}
      {data !== undefined && data.data.length > 0 && (
        <>
          <UsageBars usage={data} />
          <Folded summary="As a table">
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
          </Folded>
        </>
      )}
    </Card>
  )
}

function NoBatches(): JSX.Element {
  return (
    <Empty title="No batch yet">
      Hand in a file of emails, phones, IPs or domains, and see what is known about each row. You
      can also <a href="/app/try">look a single value up</a>, or <a href="/app/keys">make a key</a>{' '}
      for your own programs.
    </Empty>
  )
}

const UNREAD: AccountView['credits'] = {
  allowance: 0,
  packs: 0,
  held: 0,
  resets_at: '2026-01-01T00:00:00Z',
}

function Balance({ credits }: { readonly credits: AccountView['credits'] }): JSX.Element {
  const { allowance, packs, held, resets_at: resetsAt } = credits
  return (
    <>
      <div>
        <div class="figure">{format.number(allowance + packs)}</div>
        <div class="muted">credits to spend</div>
      </div>
      <Facts
        facts={[
          ['Of this month', format.number(allowance)],
          ['Of packs', format.number(packs)],
          ['Held for batches', format.number(held)],
          ['Starts anew', <Time key="at" at={resetsAt} dayOnly />],
        ]}
      />
    </>
  )
}

/** What is to be done with batches that were read: to start them, or first to mend what keeps them from it. */
function waitingText(waiting: readonly BatchView[]): string {
  const isMended = waiting.every(({ error }) => error === null)
  if (waiting.length === 1) {
    return isMended
      ? 'A batch is read and waits to be started.'
      : 'A batch is read and cannot start as it is.'
  }
  const which = format.counted(waiting.length, 'batch', 'batches')
  return isMended
    ? `${which} are read and wait to be started.`
    : `${which} are read and wait for you; not each can start as it is.`
}

/** What wants something of the person: no credits left, a batch that waits or failed. */
function Attention({
  account,
  batches,
}: {
  readonly account: AccountView | undefined
  readonly batches: readonly BatchView[]
}): JSX.Element | null {
  const { user, service } = useSession()
  // Where no mail is sent no link is under way.
  const isUnverified = service.has_mail && user?.verified === false
  const isEmpty = account !== undefined && account.credits.allowance + account.credits.packs === 0
  const waiting = batches.filter(({ status }) => status === 'ready')
  const first = waiting[0]
  if (!isEmpty && first === undefined && !isUnverified) return null
  return (
    <div class="stack tight">
      {isUnverified && (
        <Notice tone="warn">
          The address is not verified yet: open the link of the message that was sent to it.
        </Notice>
      )}
      {isEmpty && (
        <Notice tone="warn" actions={<a href="/app/credits">See plans and packs</a>}>
          No credits are left. Lookups and batches go on when the month starts anew, or with a pack.
        </Notice>
      )}
      {first !== undefined && (
        <Notice
          tone="warn"
          actions={
            waiting.length === 1 ? (
              <a href={`/app/batches/${first.id}`}>Look at it</a>
            ) : (
              <a href="/app/batches?state=ready">Look at them</a>
            )
          }
        >
          {waitingText(waiting)}
        </Notice>
      )}
    </div>
  )
}
