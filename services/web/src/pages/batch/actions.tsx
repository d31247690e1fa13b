import { BATCH_MOVES } from '@plumbline/contract/batch'
import type { BatchView } from '@plumbline/contract/batch-view'
import { useQueryClient } from '@tanstack/preact-query'
import { useLocation } from 'preact-iso'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { callJson } from '../../api/http.ts'
import { batchKey, batchPath } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { Notice } from '../../components/page.tsx'
import { useMay } from '../../session.tsx'
import { useSubmission } from '../../submit.ts'

/** The actions that a batch's state and the user's role allow. */
export function BatchActions({ batch }: { readonly batch: BatchView }): JSX.Element | null {
  const queries = useQueryClient()
  const { route } = useLocation()
  const mayChange = useMay('member')
  const [asking, setAsking] = useState<'cancel' | 'delete' | null>(null)
  const { isBusy, fault, run } = useSubmission()
  if (!mayChange) return null
  const path = batchPath(batch.id)
  const move = async (name: 'cancel' | 'pause' | 'resume'): Promise<void> => {
    try {
      const moved = await callJson<BatchView>('POST', `${path}/${name}`)
      // A read that is under way may be of the state before.
      await queries.cancelQueries({ queryKey: batchKey(batch.id) })
      queries.setQueryData(batchKey(batch.id), moved)
    } catch (error) {
      // Its state is not that of the page any more.
      void queries.invalidateQueries({ queryKey: batchKey(batch.id) })
      throw error
    }
  }
  const erase = async (): Promise<void> => {
    await callJson('DELETE', path)
    queries.removeQueries({ queryKey: batchKey(batch.id) })
    await queries.invalidateQueries({ queryKey: ['batches'] })
    route('/app/batches', true)
  }
  const isCancelable = BATCH_MOVES[batch.status].includes('canceling')
  return (
    <>
      {batch.status === 'running' && (
        <Button busy={isBusy} onClick={() => void run(async () => await move('pause'))}>
          Pause
        </Button>
      )}
      {batch.status === 'paused' && (
        <Button
          kind="primary"
          busy={isBusy}
          onClick={() => void run(async () => await move('resume'))}
        >
          Resume
        </Button>
      )}
      {isCancelable && (
        <Button kind="danger" busy={isBusy} onClick={() => setAsking('cancel')}>
          Cancel batch
        </Button>
      )}
      {!isCancelable && batch.status !== 'canceling' && (
        <Button kind="danger" busy={isBusy} onClick={() => setAsking('delete')}>
          Delete
        </Button>
      )}
      {fault !== null && <Notice tone="bad">{fault}</Notice>}
      {asking === 'cancel' && (
        <Confirm
          title="Cancel this batch?"
          action="Cancel it"
          onClose={() => setAsking(null)}
          onConfirm={() => void run(async () => await move('cancel'))}
        >
          <p>
            Nothing new is begun. Rows that are answered stay and were charged; what was held for
            the rest comes back.
          </p>
        </Confirm>
      )}
      {asking === 'delete' && (
        <Confirm
          title="Delete this batch?"
          action="Delete it"
          onClose={() => setAsking(null)}
          onConfirm={() => void run(erase)}
        >
          <p>Its file and results are erased and cannot be restored. Credits are not refunded.</p>
        </Confirm>
      )}
    </>
  )
}
