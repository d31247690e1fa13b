import type { BatchView } from '@plumbline/contract/batch-view'
import type { JSX } from 'preact'
import * as format from '../format.ts'
import { batchTitle, PRODUCT_NAMES, StateBadge } from './batch-state.tsx'
import { Table } from './table.tsx'
import { Foreign, Time } from './text.tsx'

/** A table of batches, newest first, with links to their pages. */
export function BatchTable({ batches }: { readonly batches: readonly BatchView[] }): JSX.Element {
  return (
    <Table
      caption="Batches, newest first"
      rows={batches}
      keyOf={({ id }) => id}
      columns={[
        {
          title: 'Batch',
          narrow: 'head',
          cell: (batch) => (
            <a href={`/app/batches/${batch.id}`}>
              <Foreign text={batchTitle(batch)} clip />
            </a>
          ),
        },
        {
          title: 'Product',
          isTight: true,
          narrow: 'line',
          cell: ({ product }) => PRODUCT_NAMES[product],
        },
        { title: 'State', isTight: true, narrow: 'mark', cell: (batch) => <State batch={batch} /> },
        {
          title: 'Rows',
          isNumber: true,
          narrow: 'foot',
          cell: ({ rows }) => format.number(rows.total),
        },
        {
          title: 'Credits',
          isNumber: true,
          narrow: 'foot',
          cell: ({ credits }) => format.number(credits.used),
        },
        {
          title: 'Created',
          isTight: true,
          narrow: 'foot',
          cell: (batch) => <Time at={batch.created_at} />,
        },
      ]}
    />
  )
}

function State({ batch }: { readonly batch: BatchView }): JSX.Element {
  const { status, progress } = batch
  return (
    <>
      <StateBadge batch={batch} />
      {status === 'running' && <span class="muted small"> {format.percent(progress)}</span>}
    </>
  )
}
