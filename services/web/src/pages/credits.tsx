import type { LedgerEntry, LedgerPage } from '@plumbline/contract/ledger'
import type { OffersView } from '@plumbline/contract/plans'
import { useQuery } from '@tanstack/preact-query'
import type { JSX } from 'preact'
import { callJson, sentenceOf } from '../api/http.ts'
import { useList } from '../api/list.ts'
import { Balance } from '../components/balance.tsx'
import { PRODUCT_NAMES } from '../components/batch-state.tsx'
import { LinkButton } from '../components/button.tsx'
import { DownloadLink } from '../components/download-link.tsx'
import { ListHead, ShowEarlier } from '../components/list-parts.tsx'
import { Skeleton, Card, Empty, Notice, Page } from '../components/page.tsx'
import { Table } from '../components/table.tsx'
import { Foreign, Time } from '../components/text.tsx'
import * as format from '../format.ts'

/** Ledger entries of one page. */
const PAGE_ENTRIES = 50

/** Balance, ledger, and where to get more credits. */
export function Credits(): JSX.Element {
  return (
    <Page title="Credits">
      <Balance />
      <Offers />
      <Ledger />
    </Page>
  )
}

function Offers(): JSX.Element {
  const { data, error } = useQuery({
    queryKey: ['offers'],
    queryFn: async ({ signal }) =>
      await callJson<OffersView>('GET', '/v1/plans', undefined, { signal }),
  })
  const contact = data?.contact_url ?? null
  return (
    <div class="columns">
      <Card title="Plans">
        {error !== null && <Notice tone="bad">{sentenceOf(error)}</Notice>}
        {data === undefined ? (
          error === null && <Skeleton rows={4} />
        ) : (
          <Plans plans={data.plans} />
        )}
      </Card>
      <Card title="Packs">
        {data !== undefined && <Packs packs={data.packs} />}
        {data === undefined && error === null && <Skeleton rows={4} />}
        {data === undefined && error !== null && (
          <p class="muted">Not known while they cannot be read.</p>
        )}
        <p class="muted small">Credits of packs never expire. Those of the month are used first.</p>
      </Card>
      <div class="wide">
        <Notice
          actions={
            contact !== null && <LinkButton href={contact}>Ask for a plan or pack</LinkButton>
          }
        >
          To change the plan or get a pack, write to whoever runs this service.
        </Notice>
      </div>
    </div>
  )
}

function Plans({ plans }: { readonly plans: OffersView['plans'] }): JSX.Element {
  return (
    <Table
      caption="Plans"
      rows={plans}
      keyOf={({ plan }) => plan}
      columns={[
        {
          title: 'Plan',
          narrow: 'head',
          cell: ({ plan, current }) => (
            <>
              {nameOf(plan)}
              {current && <span class="muted"> (yours)</span>}
            </>
          ),
        },
        {
          title: 'Credits a month',
          isNumber: true,
          narrow: 'foot',
          cell: ({ monthly_credits: credits }) => format.number(credits),
        },
        {
          title: 'Price a month',
          isNumber: true,
          narrow: 'mark',
          cell: ({ price_usd: price }) => (price === null ? 'Ask' : format.dollars(price)),
        },
        {
          title: 'Test keys',
          narrow: 'foot',
          cell: ({ test_keys: has }) => (has ? 'Yes' : 'No'),
        },
      ]}
    />
  )
}

function Packs({ packs }: { readonly packs: OffersView['packs'] }): JSX.Element {
  return (
    <Table
      caption="Packs"
      rows={packs}
      keyOf={({ pack }) => pack}
      columns={[
        { title: 'Pack', cell: ({ pack }) => nameOf(pack) },
        { title: 'Credits', isNumber: true, cell: ({ credits }) => format.number(credits) },
        {
          title: 'Price',
          isNumber: true,
          cell: ({ price_usd: price }) => (price === null ? 'Ask' : format.dollars(price)),
        },
      ]}
    />
  )
}

/** The operator's name of a plan or pack, capitalized. */
function nameOf(offer: string): string {
  return offer.charAt(0).toUpperCase() + offer.slice(1).replaceAll('-', ' ')
}

/** Label of each kind of entry. */
const KINDS: Readonly<Record<LedgerEntry['kind'], string>> = {
  grant: 'Allowance of the month',
  expire: 'Allowance ended',
  pack: 'Pack',
  goodwill: 'Goodwill',
  debit: 'Lookup',
  refund: 'Refund',
  give_back: 'Given back',
  hold: 'Held for a batch',
  settle: 'Rows of a batch',
  release: 'Released from a batch',
}

function Ledger(): JSX.Element {
  const ledger = useList({ queryKey: ['ledger'], readPage: readLedger })
  const entries = ledger.data
  return (
    <Card
      title="Moves"
      actions={
        entries !== undefined &&
        entries.length > 0 && (
          <DownloadLink href="/v1/ledger?format=csv" small>
            Download CSV
          </DownloadLink>
        )
      }
    >
      <ListHead list={ledger} rows={8} />
      {entries?.length === 0 && (
        <Empty title="No credits have moved yet">Every move of credits is listed here.</Empty>
      )}
      {entries !== undefined && entries.length > 0 && <Entries entries={entries} />}
      <ShowEarlier list={ledger}>Show earlier moves</ShowEarlier>
    </Card>
  )
}

async function readLedger(cursor: string, signal: AbortSignal): Promise<LedgerPage> {
  const query = new URLSearchParams({ limit: String(PAGE_ENTRIES) })
  if (cursor !== '') query.set('cursor', cursor)
  return await callJson<LedgerPage>('GET', `/v1/ledger?${query.toString()}`, undefined, { signal })
}

function Entries({ entries }: { readonly entries: readonly LedgerEntry[] }): JSX.Element {
  return (
    <Table
      caption="Moves of credits, newest first"
      rows={entries}
      keyOf={({ at }, index) => `${at} ${index}`}
      columns={[
        { title: 'When', isTight: true, narrow: 'foot', cell: ({ at }) => <Time at={at} /> },
        { title: 'What', narrow: 'head', cell: (entry) => <What entry={entry} /> },
        {
          title: 'Credits',
          isNumber: true,
          narrow: 'mark',
          cell: ({ credits }) => signed(credits),
        },
        {
          title: 'Held',
          isNumber: true,
          narrow: 'foot',
          cell: ({ held }) => (held === 0 ? '' : signed(held)),
        },
        {
          title: 'Balance',
          isNumber: true,
          narrow: 'foot',
          cell: ({ balance }) => format.number(balance),
        },
      ]}
    />
  )
}

/** Kinds whose detail is the name of a plan or pack. */
const OFFERED: ReadonlySet<LedgerEntry['kind']> = new Set(['grant', 'expire', 'pack'])

function What({ entry }: { readonly entry: LedgerEntry }): JSX.Element {
  const { kind, product, batch_id: batchId, batch_name: batchName, detail } = entry
  return (
    <>
      {KINDS[kind]}
      {product !== null && `: ${PRODUCT_NAMES[product]}`}
      {batchId !== null && (
        <>
          {' '}
          <a href={`/app/batches/${batchId}`}>
            <Foreign text={batchName ?? batchId} clip />
          </a>
        </>
      )}
      {detail !== null && (
        <span class="muted">
          {' '}
          <Foreign text={OFFERED.has(kind) ? nameOf(detail) : detail} />
        </span>
      )}
    </>
  )
}

function signed(value: number): string {
  return value > 0 ? `+${format.number(value)}` : format.number(value)
}
