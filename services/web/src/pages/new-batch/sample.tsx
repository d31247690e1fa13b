import type { BatchSample } from '@plumbline/contract/batch-sample'
import type { BatchView } from '@plumbline/contract/batch-view'
import { useQuery, useQueryClient } from '@tanstack/preact-query'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { callJson, RefusedCall, sentenceOf } from '../../api/http.ts'
import { againMs, batchKey, batchPath } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { Card, Notice } from '../../components/page.tsx'
import { Facts, Table } from '../../components/table.tsx'
import * as format from '../../format.ts'
import { useSubmission } from '../../submit.ts'
import { verdictName } from '../batch/verdicts.tsx'

/** Milliseconds between two reads of a running sample. */
const EVERY_MS = 2_000

/** Checks a few rows first, and shows the expected result of the whole batch. */
export function Sample({
  batch,
  sampled,
}: {
  readonly batch: BatchView
  /** Credits that a sample of the batch has cost. */
  readonly sampled: number
}): JSX.Element {
  const queries = useQueryClient()
  const { isBusy, fault, run } = useSubmission()
  const path = `${batchPath(batch.id)}/sample`
  const key = [...batchKey(batch.id), 'sample', batch.ready_at]
  const { data, error } = useQuery({
    queryKey: key,
    queryFn: async ({ signal }) => await readSample(path, signal),
    // Where none was asked for there is nothing to read.
    enabled: sampled > 0 || queries.getQueryData(key) !== undefined,
    refetchInterval: ({ state }) =>
      againMs(state.error, state.data?.status === 'running' && EVERY_MS),
  })
  const begin = async (): Promise<void> => {
    queries.setQueryData(key, await beginSample(path))
  }
  const status = data?.status
  useEffect(() => {
    if (status === undefined) return
    // It has taken credits, which the batch then does not cost.
    void queries.invalidateQueries({ queryKey: [...batchKey(batch.id), 'preview'] })
    void queries.invalidateQueries({ queryKey: ['account'] })
  }, [status])
  return (
    <Card title="Sample">
      {fault !== null && <Notice tone="bad">{fault}</Notice>}
      {error !== null && <Notice tone="bad">{sentenceOf(error)}</Notice>}
      {data == null ? (
        <div class="row spread">
          <p class="muted grow">
            Up to 50 rows, drawn from all of the file, are checked within a minute. They are
            charged, and not again at the start, unless you change afterwards how the file is read.
          </p>
          <Button busy={isBusy} onClick={() => void run(begin)}>
            Check a sample
          </Button>
        </div>
      ) : (
        <SampleResult product={batch.product} sample={data} />
      )}
    </Card>
  )
}

/** Begins a sample; one that was begun in another window, or before a reload, is shown instead. */
async function beginSample(path: string): Promise<BatchSample> {
  try {
    return await callJson<BatchSample>('POST', path)
  } catch (error) {
    const isRefused = error instanceof RefusedCall && error.status === 409
    const begun = isRefused ? await readSample(path) : null
    if (begun === null) throw error
    return begun
  }
}

/** The sample of a batch; null if none was asked for. */
async function readSample(path: string, signal?: AbortSignal): Promise<BatchSample | null> {
  try {
    return await callJson<BatchSample>('GET', path, undefined, { signal })
  } catch (error) {
    if (error instanceof RefusedCall && error.status === 404) return null
    throw error
  }
}

function SampleResult({
  product,
  sample,
}: {
  readonly product: BatchView['product']
  readonly sample: BatchSample
}): JSX.Element {
  const { rows, shares, credits_used: credits, expected } = sample
  return (
    <>
      {sample.status === 'running' && (
        <progress class="meter" max={rows.drawn} value={rows.known} aria-label="Sample" />
      )}
      <Facts
        facts={[
          ['Rows known', `${format.number(rows.known)} of ${format.number(rows.drawn)}`],
          ['Credits used', format.number(credits)],
          ...(expected === null
            ? []
            : ([
                ['The whole costs about', format.number(expected.credits)],
                ['and takes', format.about(expected.seconds).toLowerCase()],
              ] as const)),
        ]}
      />
      {shares.length > 0 && (
        <Table
          caption="Verdicts of the sample"
          rows={shares}
          keyOf={({ verdict }) => verdict}
          columns={[
            { title: 'Verdict', cell: ({ verdict }) => verdictName(product, verdict) },
            { title: 'Share', isNumber: true, cell: ({ share }) => format.percent(share) },
            {
              title: 'Of the whole, 19 times in 20',
              isNumber: true,
              cell: ({ low, high }) => `${format.percent(low)} to ${format.percent(high)}`,
            },
          ]}
        />
      )}
    </>
  )
}
