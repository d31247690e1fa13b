import type { BatchPage } from '@plumbline/contract/batch-view'
import { useLocation } from 'preact-iso'
import type { JSX } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { callJson } from '../api/http.ts'
import { useList } from '../api/list.ts'
import { isMoving, MOVING } from '../api/queries.ts'
import { BatchTable } from '../components/batch-table.tsx'
import { Field, SelectField } from '../components/field.tsx'
import { ListHead, ShowEarlier } from '../components/list-parts.tsx'
import { NewBatchButton } from '../components/new-batch-button.tsx'
import { Card, Empty, Page } from '../components/page.tsx'

/** Batches of one page. */
const PAGE_BATCHES = 50
/** Pages without a hit that one search reads: each looks at 2,000 batches. */
const MOST_READS = 20
/** Milliseconds after the last keystroke until a search begins. */
const TYPED_MS = 300

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
  const batches = useList({
    queryKey: ['batches', 'list', search, state],
    readPage: async (cursor, signal) => await readBatches({ search, state, cursor }, signal),
    isMoving: ({ status }) => isMoving(status),
  })
  const list = batches.data
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
        <ListHead list={batches} rows={8} />
        {list?.length === 0 && !batches.hasEarlier && (isFiltered ? <NoneFound /> : <NoneYet />)}
        {rows}
        <ShowEarlier list={batches}>Show earlier batches</ShowEarlier>
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
  // Belongs to a search in the address: a link, or the history, has another.
  const [draft, setDraft] = useState({ typed: search, search })
  const timer = useRef<ReturnType<typeof setTimeout>>()
  useEffect(() => () => clearTimeout(timer.current), [])
  const ask = (typed: string, asked: string): void => {
    clearTimeout(timer.current)
    const filled = Object.entries({ search: typed.trim(), state: asked }).filter(
      ([, value]) => value !== '',
    )
    const text = filled.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&')
    setDraft({ typed, search: typed.trim() })
    route(text === '' ? '/app/batches' : `/app/batches?${text}`, true)
  }
  const typed = draft.search === search ? draft.typed : search
  return {
    search,
    state,
    typed,
    setTyped: (text: string) => {
      setDraft({ typed: text, search })
      clearTimeout(timer.current)
      timer.current = setTimeout(() => ask(text, state), TYPED_MS)
    },
    setState: (next: string) => ask(typed, next),
  }
}

/** Reads a page of batches; the next one if a search has found none on it, a few times. */
async function readBatches(
  asked: { readonly search: string; readonly state: string; readonly cursor: string },
  signal: AbortSignal,
): Promise<BatchPage> {
  const { search, state } = asked
  const query = new URLSearchParams({ limit: String(PAGE_BATCHES) })
  if (search !== '') query.set('search', search)
  if (state !== '') query.set('status', state)
  let { cursor } = asked
  for (let reads = 1; ; reads += 1) {
    if (cursor !== '') query.set('cursor', cursor)
    const path = `/v1/batches?${query.toString()}`
    const page = await callJson<BatchPage>('GET', path, undefined, { signal })
    if (page.data.length > 0 || page.next_cursor === null || reads === MOST_READS) return page
    cursor = page.next_cursor
  }
}
