import type { BatchView } from '@plumbline/contract/batch-view'
import type { BatchKnown } from '@plumbline/contract/known-verdicts'
import { VENDORS } from '@plumbline/contract/vendors'
import { useQuery } from '@tanstack/preact-query'
import type { JSX } from 'preact'
import { callJson, sentenceOf } from '../../api/http.ts'
import { againMs, batchPath, isMoving } from '../../api/queries.ts'
import { Disclosure } from '../../components/disclosure.tsx'
import { Skeleton, Card, Empty, Notice } from '../../components/page.tsx'
import { Facts, Table } from '../../components/table.tsx'
import { Foreign, visibleText } from '../../components/text.tsx'
import * as format from '../../format.ts'
import { verdictName } from './verdicts.tsx'

type AskedRow = BatchKnown['asked'][number]

/** Milliseconds between two reads of the comparison while the batch runs. */
const EVERY_MS = 10_000

/**
 * Accepted verdicts of another service, and how they compare with the outcomes of the rows that
 * were checked anyway.
 */
export function Known({ batch }: { readonly batch: BatchView }): JSX.Element | null {
  const isThere = batch.rows.known > 0
  const moves = isMoving(batch.status)
  const { data, error } = useQuery({
    queryKey: ['known', batch.id, moves],
    queryFn: async ({ signal }) => {
      const path = `${batchPath(batch.id)}/known`
      return await callJson<BatchKnown>('GET', path, undefined, { signal })
    },
    enabled: isThere,
    refetchInterval: ({ state }) => againMs(state.error, moves && EVERY_MS),
    placeholderData: (former) => former,
  })
  if (!isThere) return null
  return (
    <Card title="Verdicts of another service">
      {error !== null && <Notice tone="bad">{sentenceOf(error)}</Notice>}
      {data === undefined && error === null && <Skeleton rows={4} />}
      {data !== undefined && <Compared batch={batch} known={data} />}
    </Card>
  )
}

function Compared({
  batch: { product },
  known: { vendor, days, rows, asked },
}: {
  readonly batch: BatchView
  readonly known: BatchKnown
}): JSX.Element {
  const differing = asked.filter(({ agrees }) => agrees === false)
  return (
    <>
      <p class="muted">
        Rows that {VENDORS[vendor]} judged no more than {format.counted(days, 'day')} before were
        not checked, but for some, to show where it errs.
      </p>
      <Facts
        facts={[
          ['Kept, free', format.number(rows.known)],
          ['Checked', `${format.number(rows.answered)} of ${format.number(rows.asked)}`],
          ['Agree', format.number(rows.agreed)],
          ['Disagree', format.number(rows.disagreed)],
          ['Undecided', format.number(rows.undecided)],
        ]}
      />
      {rows.answered === 0 ? (
        <Empty title="Nothing to compare yet">
          {rows.asked === 0
            ? 'No row of that kind was checked.'
            : 'Figures appear as rows become known.'}
        </Empty>
      ) : (
        <Table
          caption="Their verdicts and ours"
          rows={pairsOf(asked)}
          keyOf={({ said, found }) => `${said} ${found}`}
          columns={[
            { title: VENDORS[vendor], cell: ({ said }) => verdictName(product, said) },
            { title: 'Found here', cell: ({ found }) => verdictName(product, found) },
            { title: 'Rows', isNumber: true, cell: ({ count }) => format.number(count) },
          ]}
        />
      )}
      {differing.length > 0 && (
        <Disclosure summary="Rows on which we disagree">
          {() => <Differing product={product} rows={differing} />}
        </Disclosure>
      )}
    </>
  )
}

function Differing({
  product,
  rows,
}: {
  readonly product: BatchView['product']
  readonly rows: readonly AskedRow[]
}): JSX.Element {
  return (
    <Table
      caption="Rows on which we disagree"
      rows={rows}
      keyOf={({ row }) => row}
      columns={[
        { title: 'Row', isNumber: true, cell: ({ row }) => format.number(row) },
        { title: 'Your reference', cell: ({ ref }) => <Foreign text={ref ?? ''} clip /> },
        { title: 'They said', cell: ({ said }) => <Foreign text={said.word} /> },
        { title: 'On', isTight: true, cell: ({ said }) => format.calendarDay(said.at) },
        {
          title: 'Found here',
          cell: ({ found }) =>
            found === null
              ? ''
              : `${verdictName(product, found.verdict)}: ${sayReason(found.reason)}`,
        },
      ]}
    />
  )
}

function sayReason(reason: string): string {
  return visibleText(reason.replaceAll('_', ' '))
}

/**
 * Number of answered rows for each pair of verdicts (the other service's and ours), the most
 * frequent first.
 */
function pairsOf(
  asked: readonly AskedRow[],
): readonly { readonly said: string; readonly found: string; readonly count: number }[] {
  const pairs = asked.flatMap(({ said, found }) =>
    found === null ? [] : [{ said: said.verdict, found: found.verdict }],
  )
  return [...Map.groupBy(pairs, ({ said, found }) => `${said} ${found}`).values()]
    .flatMap((alike) => alike.slice(0, 1).map((pair) => ({ ...pair, count: alike.length })))
    .toSorted((one, next) => next.count - one.count)
}
