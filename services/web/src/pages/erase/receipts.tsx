import type { JSX } from 'preact'
import { erasuresKey, readErasures, receiptHref } from '../../api/erasures.ts'
import { useList } from '../../api/list.ts'
import { ListHead, ShowEarlier } from '../../components/list-parts.tsx'
import { Card, Empty } from '../../components/page.tsx'
import { Table } from '../../components/table.tsx'
import { Time } from '../../components/text.tsx'
import * as format from '../../format.ts'

/** Earlier receipts, page by page; the one shown above is highlighted. */
export function Receipts({ shown }: { readonly shown: string | undefined }): JSX.Element {
  const receipts = useList({
    queryKey: erasuresKey,
    readPage: readErasures,
    isMoving: ({ status }) => status === 'running',
  })
  const { data } = receipts
  return (
    <Card title="Receipts">
      <ListHead list={receipts} rows={4} />
      {data?.length === 0 && (
        <Empty title="Nothing was erased yet">Each erasure leaves a receipt here.</Empty>
      )}
      {data !== undefined && data.length > 0 && (
        <Table
          caption="Receipts, newest first"
          rows={data}
          keyOf={({ id }) => id}
          columns={[
            {
              title: 'Number',
              narrow: 'head',
              cell: ({ id }) => (
                <a href={receiptHref(id)} aria-current={id === shown ? 'true' : undefined}>
                  {id}
                </a>
              ),
            },
            {
              title: 'State',
              narrow: 'mark',
              isTight: true,
              cell: ({ status }) =>
                status === 'completed' ? (
                  <span class="badge good">Completed</span>
                ) : (
                  <span class="badge live">Under way</span>
                ),
            },
            {
              title: 'Values',
              isNumber: true,
              narrow: 'foot',
              cell: ({ values }) => format.number(values),
            },
            {
              title: 'Rows',
              isNumber: true,
              narrow: 'foot',
              cell: ({ erased }) => format.number(erased.rows),
            },
            {
              title: 'Begun',
              isTight: true,
              narrow: 'foot',
              cell: ({ created_at: at }) => <Time at={at} />,
            },
          ]}
        />
      )}
      <ShowEarlier list={receipts}>Show earlier receipts</ShowEarlier>
    </Card>
  )
}
