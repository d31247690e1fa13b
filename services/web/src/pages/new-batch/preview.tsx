import type { BatchPreview } from '@plumbline/contract/batch-preview'
import type { BatchView } from '@plumbline/contract/batch-view'
import { useQuery, useQueryClient } from '@tanstack/preact-query'
import { useLocation } from 'preact-iso'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { callJson, RefusedCall, sentenceOf } from '../../api/http.ts'
import { batchKey, batchPath } from '../../api/queries.ts'
import { useAnnounce } from '../../components/announcer.tsx'
import { Button, LinkButton } from '../../components/button.tsx'
import { Skeleton, Card, Notice } from '../../components/page.tsx'
import { batchFault } from '../../batch-fault.ts'
import * as format from '../../format.ts'
import { useSubmission } from '../../submit.ts'
import type { Changes } from './changes.ts'
import { Columns } from './columns.tsx'
import { Cost } from './cost.tsx'
import { ChooseEntry } from './choose-entry.tsx'
import { Known } from './known.tsx'
import { Reading, UndoReading } from './reading.tsx'
import { Sample } from './sample.tsx'

/** Milliseconds between two reads of the preview until every row is counted. */
const EVERY_MS = 1_000

/** The content of the file, which can be corrected, and its cost. */
export function Preview({
  batch,
  changes,
}: {
  readonly batch: BatchView
  readonly changes: Changes
}): JSX.Element {
  const queries = useQueryClient()
  const { route } = useLocation()
  const { isBusy, fault, run } = useSubmission()
  const isReady = batch.status === 'ready'
  const path = batchPath(batch.id)
  const preview = useQuery({
    queryKey: [...batchKey(batch.id), 'preview', isReady, batch.ready_at],
    queryFn: async ({ signal }) =>
      await callJson<BatchPreview>('GET', `${path}/preview`, undefined, { signal }),
    refetchInterval: ({ state }) =>
      state.data?.counted === true || isRefused(state.error) ? false : EVERY_MS,
    placeholderData: (former) => former,
  })
  const { data, error } = preview
  // What is shown of an earlier reading meanwhile may cost less.
  const isRead = isReady && !changes.isBusy && !preview.isPlaceholderData
  useCostAloud(isRead && data?.error === null ? data.cost?.credits : undefined)
  const start = async (): Promise<void> => {
    try {
      queries.setQueryData(batchKey(batch.id), await callJson<BatchView>('POST', `${path}/start`))
    } catch (error) {
      // It may have been started or deleted in another window, or by a response that was lost.
      void queries.invalidateQueries({ queryKey: batchKey(batch.id) })
      throw error
    }
    void queries.invalidateQueries({ queryKey: ['account'] })
    void queries.invalidateQueries({ queryKey: ['batches'] })
    route(`/app/batches/${batch.id}`)
  }
  if (data === undefined) {
    if (isReady && batch.error?.field === 'entry') {
      return <ChooseEntry entries={batch.error.entries ?? []} changes={changes} />
    }
    if (isReady && batch.error !== null) {
      return <UndoReading fault={batchFault(batch.error, batch.product)} changes={changes} />
    }
    return (
      <Card title="What was found">
        {error === null ? <Skeleton rows={6} /> : <Notice tone="bad">{sentenceOf(error)}</Notice>}
      </Card>
    )
  }
  const lacks = data.cost !== null && data.cost.balance_after < 0
  return (
    <>
      {data.error !== null && !lacks && (
        <Notice tone="warn">{batchFault(data.error, batch.product)}</Notice>
      )}
      <Reading preview={data} sheets={batch.file?.sheets ?? []} changes={changes} />
      <Columns preview={data} changes={changes} />
      <Known preview={data} changes={changes} />
      <Cost preview={data} />
      {isRead && !lacks && data.error === null && (
        <Sample batch={batch} sampled={data.cost?.sampled ?? 0} />
      )}
      {fault !== null && <Notice tone="bad">{fault}</Notice>}
      <div class="row">
        <Button
          kind="primary"
          busy={isBusy}
          disabled={!isRead || lacks || data.cost?.credits === undefined}
          onClick={() => void run(start)}
        >
          Start
        </Button>
        <LinkButton href="/app/batches">Keep for later</LinkButton>
        {!isRead && data.error === null && (
          <span class="muted">The rows are still being counted.</span>
        )}
      </div>
    </>
  )
}

/** Announces the cost of a batch that can be started, which may have taken a while to count. */
function useCostAloud(credits: number | undefined): void {
  const announce = useAnnounce()
  useEffect(() => {
    if (credits === undefined) return
    announce(`Ready to start: ${format.counted(credits, 'credit')} at most.`)
  }, [credits])
}

/** Whether there is none, and will be none until the batch is changed; else it is to be asked again. */
function isRefused(error: unknown): boolean {
  return error instanceof RefusedCall && error.status === 409 && error.retryAfterSeconds === null
}
