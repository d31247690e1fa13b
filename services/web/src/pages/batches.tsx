import type { BatchPage } from '@plumbline/contract/batch-view'
import { useInfiniteQuery } from '@tanstack/preact-query'
import { useLocation } from 'preact-iso'
import type { JSX } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { callJson, sentenceOf } from '../api/http.ts'
import { againMs, isMoving, MOVING } from '../api/queries.ts'
import { BatchTable } from '../components/batch-table.tsx'
import { Button } from '../components/button.tsx'
import { Field, SelectField } from '../components/field.tsx'
import { NewBatchButton } from '../components/new-batch-button.tsx'
import { Skeleton, Card, Empty, Notice, Page } from '../components/page.tsx'

/** Batches of one page. */
const PAGE_BATCHES = 50
/** Pages without a hit that one search reads: each looks at 2,000 batches. */
const MOST_READS = 20
/** Milliseconds after the last keystroke until a search begins. */
const TYPED_MS = 300
/** Milliseconds between two reads of the list while a batch on it changes. */
const EVERY_MS = 5_000

const STATES = [
  { value: '', text: 'All' },
  { value: MOVING.join(','), text: 'In progress' },
  { value: 'ready', text: 'Ready to start' },
  { value: 'paused', text: 'Paused' },
  { value: 'completed', text: 'Completed' },
  { value: 'canceled', text: 'Canceled' },
  { value: 'failed', text: 'Failed' },
  { value: 'expired', text: 'Erased' },
]

/** All batches of the account, with search and filter by state. */
export function Batches(): JSX.Element {
  const { search, state, typed, setTyped, setState } = useAsked()
  const batches = useBatches({ search, state })
  const pages = batches.data?.pages
  const list = useMemo(() => pages?.flatMap(({ data }) => data), [pages])
  // Typing a character does not render hundreds of rows again.
  const rows = useMemo(
    () => list !== undefined && list.length > 0 && <BatchTable batches={list} />,
    [list],
  )
  const isFiltered = search !== '' || state !== ''
  return (
    <Page title="Batches" actions={<NewBatchButton />}>
      <Card>
        <div class="row bottom">
          <div class="grow">
            <Field
              label="Search"
              type="search"
              value={typed}
              onInput={setTyped}
              maxLength={100}
              placeholder="What it is called, or its id"
            />
          </div>
          <SelectField label="State" value={state} choices={STATES} onChange={setState} />
        </div>
        {batches.error !== null && (
          <Notice
            tone="bad"
            actions={<Button onClick={() => void batches.refetch()}>Try again</Button>}
          >
            {sentenceOf(batches.error)}
          </Notice>
        )}
        {list === undefined && batches.error === null && <Skeleton rows={8} />}
        {list?.length === 0 && !batches.hasNextPage && (isFiltered ? <NoneFound /> : <NoneYet />)}
        {rows}
        {batches.hasNextPage && (
          <div>
            <Button busy={batches.isFetchingNextPage} onClick={() => void batches.fetchNextPage()}>
              Show earlier batches
            </Button>
          </div>
        )}
      </Card>
    </Page>
  )
}

function NoneFound(): JSX.Element {
  return (
    <Empty title="None found" heading="h2">
      No batch has this name and state.
    </Empty>
  )
}

function NoneYet(): JSX.Element {
  return (
    <Empty title="No batch yet" heading="h2">
      A batch is a file that is worked through row by row. You see what it costs before it starts.
    </Empty>
  )
}

/**
 * Search and state, which stand in the address, so that they are as they were after going back; and
 * what is typed, which becomes the search in a moment.
 */
function useAsked() {
  const { query, route } = useLocation()
  const { search = '', state = '' } = query
  const [typed, setTyped] = useState(search)
  const settled = useSettled(typed.trim())
  // The search that this page has put into the address.
  const put = useRef(search)
  const ask = (asked: { readonly search: string; readonly state: string }): void => {
    put.current = asked.search
    const filled = Object.entries(asked).filter(([, value]) => value !== '')
    const text = filled.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&')
    route(text === '' ? '/app/batches' : `/app/batches?${text}`, true)
  }
  useEffect(() => {
    if (settled !== put.current) ask({ search: settled, state })
  }, [settled])
  useEffect(() => {
    // A link, or the history, has another.
    if (search === put.current) return
    put.current = search
    setTyped(search)
  }, [search])
  return {
    search,
    state,
    typed,
    setTyped,
    setState: (next: string) => ask({ search, state: next }),
  }
}

/** The value once it has been unchanged for a moment. */
function useSettled(value: string): string {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), TYPED_MS)
    return () => clearTimeout(timer)
  }, [value])
  return settled
}

function useBatches({ search, state }: { readonly search: string; readonly state: string }) {
  return useInfiniteQuery({
    queryKey: ['batches', 'list', search, state],
    queryFn: async ({ pageParam, signal }) => {
      const query = new URLSearchParams({ limit: String(PAGE_BATCHES) })
      if (pageParam !== '') query.set('cursor', pageParam)
      if (search !== '') query.set('search', search)
      if (state !== '') query.set('status', state)
      let page: BatchPage
      let reads = 0
      do {
        page = await callJson<BatchPage>('GET', `/v1/batches?${query.toString()}`, undefined, {
          signal,
        })
        query.set('cursor', page.next_cursor ?? '')
        reads += 1
      } while (page.data.length === 0 && page.next_cursor !== null && reads < MOST_READS)
      return page
    },
    initialPageParam: '',
    getNextPageParam: ({ next_cursor: next }) => next ?? undefined,
    // Long lists are not read again in whole; what moves stands on the first page.
    refetchInterval: ({ state }) => {
      const pages = state.data?.pages ?? []
      const moves = pages[0]?.data.some(({ status }) => isMoving(status)) ?? false
      return pages.length > 1 ? false : againMs(state.error, moves && EVERY_MS)
    },
    placeholderData: (former) => former,
  })
}
