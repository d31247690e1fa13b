import { useInfiniteQuery } from '@tanstack/preact-query'
import type { JSX } from 'preact'
import { erasuresKey, readErasures, receiptHref } from '../../api/erasures.ts'
import { sentenceOf } from '../../api/http.ts'
import { againMs } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { Skeleton, Card, Empty, Notice } from '../../components/page.tsx'
import { Table } from '../../components/table.tsx'
import { Time } from '../../components/text.tsx'
import * as format from '../../format.ts'

/** Milliseconds between two reads of the receipts while an erasure on the first page is running. */
const EVERY_MS = 5_000

/** Earlier receipts, page by page; the one shown above is highlighted. */
export function Receipts({ shown }: { readonly shown: string | undefined }): JSX.Element {
  const receipts = useReceipts()
  const { data, error } = receipts
  const list = data?.pages.flatMap((page) => page.data)
  return (
    <Card title="Receipts">
      {error !== null && (
        <Notice
          tone="bad"
          actions={<Button onClick={() => void receipts.refetch()}>Try again</Button>}
        >
          {sentenceOf(error)}
        </Notice>
      )}
      {list === undefined && error === null && <Skeleton rows={4} />}
      {list?.length === 0 && (
        <Empty title="Nothing was erased yet">Each erasure leaves a receipt here.</Empty>
      )}
      {list !== undefined && list.length > 0 && (
        <Table
          caption="Receipts, newest first"
          rows={list}
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
      {receipts.hasNextPage && (
        <div>
          <Button busy={receipts.isFetchingNextPage} onClick={() => void receipts.fetchNextPage()}>
            Show earlier receipts
          </Button>
        </div>
      )}
    </Card>
  )
}

function useReceipts() {
  return useInfiniteQuery({
    queryKey: erasuresKey,
    queryFn: async ({ pageParam, signal }) => await readErasures(pageParam, signal),
    initialPageParam: '',
    getNextPageParam: ({ next_cursor: next }) => next ?? undefined,
    refetchInterval: ({ state }) => {
      const pages = state.data?.pages ?? []
      const moves = pages[0]?.data.some(({ status }) => status === 'running') ?? false
      return pages.length > 1 ? false : againMs(state.error, moves && EVERY_MS)
    },
  })
}
