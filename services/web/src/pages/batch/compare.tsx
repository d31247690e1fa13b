import type { BatchPage, BatchView } from '@plumbline/contract/batch-view'
import type { Comparison } from '@plumbline/contract/comparison'
import { useQuery } from '@tanstack/preact-query'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { callJson, sentenceOf } from '../../api/http.ts'
import { batchPath, ENDED } from '../../api/queries.ts'
import { batchTitle } from '../../components/batch-state.tsx'
import { Button } from '../../components/button.tsx'
import { DownloadLink } from '../../components/download-link.tsx'
import { SelectField, type Choice } from '../../components/field.tsx'
import { Skeleton, Card, Notice } from '../../components/page.tsx'
import { Facts, Table } from '../../components/table.tsx'
import { visibleText } from '../../components/text.tsx'
import * as format from '../../format.ts'
import { verdictName } from './verdicts.tsx'

/** Newest ended batches that are offered for comparison. */
const OFFERED = 100

/** Comparison with another batch of the same records. */
export function Compare({ batch }: { readonly batch: BatchView }): JSX.Element | null {
  const others = useQuery({
    queryKey: ['batches', 'ended'],
    queryFn: async ({ signal }) => {
      const path = `/v1/batches?limit=${OFFERED}&status=${ENDED.join(',')}`
      return await callJson<BatchPage>('GET', path, undefined, { signal })
    },
  })
  const [chosen, setChosen] = useState<string | null>(null)
  const [isAsked, setAsked] = useState(false)
  const choices = choicesOf(batch, others.data?.data ?? [])
  const other = chosen ?? choices[0]?.value
  // Where there is nothing to compare with, there is nothing to say.
  if (other === undefined) return null
  return (
    <Card title="What has changed">
      <div class="row bottom">
        <div class="grow">
          <SelectField
            label="Compare with"
            value={other}
            choices={choices}
            onChange={(id) => {
              setChosen(id)
              setAsked(false)
            }}
          />
        </div>
        <Button onClick={() => setAsked(true)}>Compare</Button>
      </div>
      {isAsked && <Changes key={other} batch={batch} other={other} />}
    </Card>
  )
}

/** Batches of the same product; related ones (by recheck or rescore) first. */
function choicesOf(batch: BatchView, ended: readonly BatchView[]): readonly Choice[] {
  const others = ended.filter(({ id, product }) => product === batch.product && id !== batch.id)
  const isKin = (one: BatchView): boolean =>
    one.id === batch.origin?.batch || one.origin?.batch === batch.id
  const choices = [...others.filter(isKin), ...others.filter((one) => !isKin(one))].map((one) => ({
    value: one.id,
    text: visibleText(`${batchTitle(one)}, ${format.time(one.created_at)}`),
  }))
  const origin = batch.origin?.batch
  // It may be older than the batches that were read.
  return origin === undefined || choices.some(({ value }) => value === origin)
    ? choices
    : [{ value: origin, text: `The batch that it was made of (${origin})` }, ...choices]
}

function Changes({
  batch,
  other,
}: {
  readonly batch: BatchView
  readonly other: string
}): JSX.Element {
  const path = `${batchPath(batch.id)}/compare?with=${encodeURIComponent(other)}`
  const { data, error } = useQuery({
    queryKey: ['comparison', batch.id, other],
    queryFn: async ({ signal }) =>
      await callJson<Comparison>('GET', path, undefined, { signal, withinMs: LONG_MS }),
    // Neither of the two changes any more.
    staleTime: Number.POSITIVE_INFINITY,
  })
  if (error !== null) return <Notice tone="bad">{sentenceOf(error)}</Notice>
  if (data === undefined) return <Skeleton rows={4} />
  const { rows } = data
  return (
    <>
      <Facts
        facts={[
          ['Changed', format.number(rows.changed)],
          ['Compared', format.number(rows.compared)],
          ['Only in the earlier', format.number(rows.only_before)],
          ['Only in the later', format.number(rows.only_after)],
        ]}
      />
      <Moves product={batch.product} verdicts={data.verdicts} />
      {rows.changed > 0 && (
        <div class="row">
          <DownloadLink href={`${path}&format=csv`}>Download the changes</DownloadLink>
        </div>
      )}
    </>
  )
}

/** Time-out in ms of comparing large batches. */
const LONG_MS = 600_000

/** How many rows changed from one verdict to another, including unchanged ones. */
function Moves({
  product,
  verdicts,
}: {
  readonly product: BatchView['product']
  readonly verdicts: Comparison['verdicts']
}): JSX.Element | null {
  const moves = Object.entries(verdicts)
    .flatMap(([from, to]) => Object.entries(to).map(([key, count]) => ({ from, to: key, count })))
    .toSorted((one, next) => next.count - one.count)
  if (moves.length === 0) return null
  return (
    <Table
      caption="Verdicts before and after"
      rows={moves}
      keyOf={({ from, to }) => `${from} ${to}`}
      columns={[
        { title: 'Before', cell: ({ from }) => verdictName(product, from) },
        {
          title: 'After',
          cell: ({ from, to }) =>
            from === to ? <span class="muted">The same</span> : verdictName(product, to),
        },
        { title: 'Rows', isNumber: true, cell: ({ count }) => format.number(count) },
      ]}
    />
  )
}
