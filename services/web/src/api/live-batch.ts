import type { BatchView } from '@plumbline/contract/batch-view'
import { useQuery, useQueryClient } from '@tanstack/preact-query'
import { useEffect } from 'preact/hooks'
import { batchKey, isMoving, readBatch } from './queries.ts'

/** How long after a stream that was refused the batch is read again, in ms. */
const AGAIN_MS = 5_000

/** A batch as it is now, and what kept it from being read. */
export interface LiveBatch {
  readonly batch: BatchView | undefined
  readonly error: Error | null
}

/**
 * Follows a batch while it moves, by server-sent events, and by none while the page is hidden: HTTP/1.1 gives a
 * browser six connections in all. Only one component of a page may follow one.
 */
export function useLiveBatch(id: string | null): LiveBatch {
  const queries = useQueryClient()
  const { data, error } = useQuery({
    queryKey: batchKey(id ?? ''),
    queryFn: async ({ signal }) => await readBatch(id ?? '', signal),
    enabled: id !== null,
  })
  const isFollowed = data !== undefined && isMoving(data.status)
  useEffect(() => {
    if (id === null || !isFollowed) return undefined
    return followVisibly(id, {
      onBatch: (batch) => queries.setQueryData(batchKey(id), batch),
      onEnd: () => {
        void queries.invalidateQueries({ queryKey: batchKey(id) })
        // What it cost and where it stands is told elsewhere, too.
        for (const key of ['account', 'batches', 'ledger', 'usage']) {
          void queries.invalidateQueries({ queryKey: [key] })
        }
      },
    })
  }, [id, isFollowed])
  return { batch: id === null ? undefined : data, error }
}

interface Follower {
  readonly onBatch: (batch: BatchView) => void
  readonly onEnd: () => void
}

/** Opens the stream whenever the page is seen; returns what ends it. */
function followVisibly(id: string, follower: Follower): () => void {
  let stop: (() => void) | null = null
  const look = (): void => {
    if (document.hidden) {
      stop?.()
      stop = null
    } else {
      stop ??= follow(id, follower)
    }
  }
  look()
  document.addEventListener('visibilitychange', look)
  return () => {
    document.removeEventListener('visibilitychange', look)
    stop?.()
  }
}

function follow(id: string, { onBatch, onEnd }: Follower): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  let stream = open()

  function open(): EventSource {
    const opened = new EventSource(`/v1/batches/${encodeURIComponent(id)}/events`)
    opened.addEventListener('batch', ({ data }: MessageEvent<string>) => onBatch(batchIn(data)))
    opened.addEventListener('end', () => {
      opened.close()
      onEnd()
    })
    // The browser comes back by itself where the connection broke, not where the service refused.
    opened.addEventListener('error', () => {
      if (opened.readyState !== EventSource.CLOSED || timer !== undefined) return
      timer = setTimeout(() => {
        timer = undefined
        onEnd()
        stream = open()
      }, AGAIN_MS)
    })
    return opened
  }

  return () => {
    clearTimeout(timer)
    stream.close()
  }
}

function batchIn(data: string): BatchView {
  // Safe because the service writes the same object there that it answers a read with.
  return JSON.parse(data) as BatchView
}
