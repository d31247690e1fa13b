import type { BatchView } from '@plumbline/contract/batch-view'
import { useQuery } from '@tanstack/preact-query'
import type { JSX, RefObject } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { sentenceOf } from '../../api/http.ts'
import { againMs, isMoving } from '../../api/queries.ts'
import { isUnknown, readRows, subjectOf, type ResultRow } from '../../api/result-rows.ts'
import { useAnnounce } from '../../components/announcer.tsx'
import { Button } from '../../components/button.tsx'
import { SelectField } from '../../components/field.tsx'
import { Skeleton, Card, Empty, Notice } from '../../components/page.tsx'
import { Table } from '../../components/table.tsx'
import { Foreign } from '../../components/text.tsx'
import * as format from '../../format.ts'
import { useProgressiveRendering } from '../../progressive-rendering.ts'
import { useMedia } from '../../media.ts'
import { rowFault } from '../../row-fault.ts'
import { rowFilters } from './row-filters.ts'

/** Milliseconds between two reads of the rows while the batch runs. */
const EVERY_MS = 10_000

/** Rows rendered in one task at first. */
const ROWS_AT_ONCE = 5
/** Rows of a page that a narrow window shows until more are requested. */
const NARROW_ROWS = 10

/** Statuses of rows, in words. */
const STATUSES: Readonly<Record<string, string>> = {
  done: 'Done',
  known: 'Known',
  refused: 'Refused',
  blank: 'Blank',
  canceled: 'Canceled',
  error: 'Error',
  waiting: 'Waiting',
}

/** Advice about a row, in words. */
const ADVICE: Readonly<Record<string, readonly [text: string, tone: string]>> = {
  send: ['Send', 'good'],
  caution: ['Caution', 'warn'],
  do_not_send: ['Do not send', 'bad'],
  check_again: ['Check again', 'none'],
  allow: ['Allow', 'good'],
  review: ['Review', 'warn'],
  block: ['Block', 'bad'],
}

/** Rows of the result with their reasons, filtered, page by page. */
export function Rows({ batch }: { readonly batch: BatchView }): JSX.Element {
  const [only, setOnly] = useState('')
  // Row numbers behind which the pages begin, as far as one has gone.
  const [starts, setStarts] = useState<readonly number[]>([0])
  const [isWhole, setWhole] = useState(false)
  const isNarrow = useMedia('(width < 40em)')
  const after = starts.at(-1) ?? 0
  const rows = useQuery({
    queryKey: ['rows', batch.id, isMoving(batch.status), only, after],
    queryFn: async ({ signal }) => await readRows(batch.id, { only, after, signal }),
    refetchInterval: ({ state }) => againMs(state.error, isMoving(batch.status) && EVERY_MS),
    // Rows of another kind are not of this one: of a large batch it takes a while to find none.
    placeholderData: (former, query) => (query?.queryKey[3] === only ? former : undefined),
  })
  const { data, error } = rows
  const last = data?.rows.at(-1)
  const isFolded = isNarrow && !isWhole
  const shown = useMemo(
    () => (isFolded ? data?.rows.slice(0, NARROW_ROWS) : data?.rows),
    [data, isFolded],
  )
  // A choice of a filter shows at once, before the rows are rendered again.
  const table = useMemo(
    () =>
      shown !== undefined && shown.length > 0 && <RowTable product={batch.product} rows={shown} />,
    [batch.product, shown],
  )
  const top = useTurn(rows.isPlaceholderData ? undefined : data?.rows[0]?.row, after)
  const foldedCount = (data?.rows.length ?? 0) - (shown?.length ?? 0)
  return (
    <Card
      title="Rows"
      actions={
        <SelectField
          label="Show"
          value={only}
          choices={rowFilters(batch)}
          onChange={(value) => {
            setOnly(value)
            setStarts([0])
          }}
        />
      }
    >
      {error !== null && <Notice tone="bad">{sentenceOf(error)}</Notice>}
      {data === undefined && error === null && <Skeleton rows={8} />}
      {data?.rows.length === 0 && (
        <Empty title={only === '' ? 'No row is known yet' : 'No such row'}>
          {only === '' ? 'Rows appear as they become known.' : 'Choose another kind above.'}
        </Empty>
      )}
      <div ref={top}>{table}</div>
      {foldedCount > 0 && (
        <div>
          <Button onClick={() => setWhole(true)}>
            {`Show ${format.counted(foldedCount, 'more row')}`}
          </Button>
        </div>
      )}
      {foldedCount === 0 && (starts.length > 1 || data?.hasMore === true) && (
        <div class="row">
          <Button
            busy={rows.isPlaceholderData}
            disabled={starts.length < 2}
            onClick={() => setStarts(starts.slice(0, -1))}
          >
            Earlier rows
          </Button>
          <Button
            // The rows shown until then are of another page or kind.
            busy={rows.isPlaceholderData}
            disabled={data?.hasMore !== true || last === undefined}
            onClick={() => last !== undefined && setStarts([...starts, last.row])}
          >
            Later rows
          </Button>
        </div>
      )}
    </Card>
  )
}

/** Shows a page that was turned to from its top, and says so; returns the box to put it into. */
function useTurn(firstRow: number | undefined, after: number): RefObject<HTMLDivElement> {
  const announce = useAnnounce()
  const box = useRef<HTMLDivElement>(null)
  const shown = useRef(after)
  useEffect(() => {
    if (firstRow === undefined || shown.current === after) return
    shown.current = after
    const { current } = box
    if (current === null) return
    if (current.getBoundingClientRect().top < 0) current.closest('section')?.scrollIntoView()
    announce(`From row ${format.number(firstRow)}.`)
  }, [firstRow, after])
  return box
}

function RowTable({
  product,
  rows,
}: {
  readonly product: BatchView['product']
  readonly rows: readonly ResultRow[]
}): JSX.Element {
  const drawn = useProgressiveRendering(Math.ceil(rows.length / ROWS_AT_ONCE)) * ROWS_AT_ONCE
  return (
    <Table
      caption="Rows of the result"
      rows={rows.slice(0, drawn)}
      isBusy={drawn < rows.length}
      keyOf={({ row }) => row}
      columns={[
        {
          title: 'Row',
          isNumber: true,
          narrow: 'foot',
          cell: ({ row }) => format.number(row),
        },
        {
          title: 'Value',
          narrow: 'head',
          cell: (row) => <Foreign text={subjectOf(row, product)} clip />,
        },
        { title: 'Outcome', isTight: true, narrow: 'mark', cell: (row) => <Outcome row={row} /> },
        { title: 'Why', narrow: 'line', cell: (row) => <Why row={row} /> },
        {
          title: 'Credits',
          isNumber: true,
          narrow: 'foot',
          cell: ({ credits_charged: credits }) => format.number(credits),
        },
      ]}
    />
  )
}

function Outcome({ row }: { readonly row: ResultRow }): JSX.Element {
  const [text, tone] = ADVICE[row.advice ?? ''] ?? [STATUSES[row.status] ?? row.status, 'none']
  return <span class={`badge ${tone}`}>{text}</span>
}

function Why({ row }: { readonly row: ResultRow }): JSX.Element {
  const { error } = row
  // What is wrong with a part says nothing of what was found of the others.
  const parts = [
    row.why ?? (error === null ? summaryOf(row) : ''),
    error === null ? '' : rowFault(error),
  ]
  const why = parts.filter((part) => part !== '').join(' ')
  return (
    <>
      <Foreign text={why} />
      {row.suggestion != null && row.suggestion !== '' && (
        <span class="muted">
          {' '}
          Did you mean <Foreign text={row.suggestion} />?
        </span>
      )}
    </>
  )
}

/** The most informative fields of a result that has no sentence. */
function summaryOf({ result }: ResultRow): string {
  if (result === null) return ''
  const shown = Object.entries(result).filter(
    ([name, value]) =>
      typeof value !== 'object' && !isUnknown(name, value) && name !== 'credits_used',
  )
  return shown
    .slice(1, 6)
    .map(([name, value]) => `${name.replaceAll('_', ' ')}: ${sayValue(value)}`)
    .join(', ')
}

function sayValue(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return String(value)
}
