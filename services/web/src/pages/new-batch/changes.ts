import type { BatchChange } from '@plumbline/contract/batch-change'
import type { BatchView } from '@plumbline/contract/batch-view'
import { useQueryClient } from '@tanstack/preact-query'
import { useRef, useState } from 'preact/hooks'
import { callJson } from '../../api/http.ts'
import { batchKey, batchPath } from '../../api/queries.ts'
import { useSubmission } from '../../submit.ts'

/** Changes of how a batch is read, while they are being sent. */
export interface Changes {
  /** Changes that the service has not confirmed yet; forms show them meanwhile. */
  readonly wished: BatchChange
  readonly isBusy: boolean
  readonly fault: string | null
  readonly change: (wish: BatchChange) => void
}

/**
 * Sends changes one after another; those made during a request are sent together afterwards. So no
 * field has to be disabled meanwhile, which would take the focus from keyboard users.
 */
export function useChanges(id: string | null): Changes {
  const queries = useQueryClient()
  const [wished, setWished] = useState<BatchChange>({})
  const waiting = useRef<BatchChange | null>(null)
  const { isBusy, fault, run } = useSubmission()
  const sendAll = async (): Promise<void> => {
    if (id === null) return
    const path = batchPath(id)
    try {
      while (waiting.current !== null) {
        const wish = waiting.current
        waiting.current = null
        const batch = await callJson<BatchView>('PATCH', path, wish)
        queries.setQueryData(batchKey(id), batch)
        await queries.invalidateQueries({ queryKey: batchKey(id) })
      }
    } finally {
      waiting.current = null
      setWished({})
    }
  }
  return {
    wished,
    isBusy,
    fault,
    change: (wish) => {
      waiting.current = { ...waiting.current, ...wish }
      setWished((before) => ({ ...before, ...wish }))
      void run(sendAll)
    },
  }
}
