import type { BatchView } from '@plumbline/contract/batch-view'
import { useQuery, useQueryClient } from '@tanstack/preact-query'
import { useEffect, useState } from 'preact/hooks'
import { againMs, batchKey, batchPath, isMoving, readBatch } from './queries.ts'

/** Milliseconds after a refused or broken stream until the batch is read and followed again. */
const AGAIN_MS = 5_000
/** Milliseconds between two reads of a paused batch, which may be resumed elsewhere, or by itself. */
const PAUSED_EVERY_MS = 5_000

/** The current state of a batch, and why it could not be read. */
export interface LiveBatch {
  readonly batch: BatchView | undefined
  readonly error: Error | null
}

/**
 * Follows a batch while it changes, by server-sent events; no stream is open while the page is
 * hidden, since HTTP/1.1 gives a browser six connections in all. Only one component of a page may
 * follow a batch.
 */
export function useLiveBatch(id: string | null): LiveBatch {
  const queries = useQueryClient()
  const { data, error } = useQuery({
    queryKey: batchKey(id ?? ''),
    queryFn: async ({ signal }) => await readBatch(id ?? '', signal),
    enabled: id !== null,
    // It may rest for days, for which a stream would take one of those that the account may have.
    refetchInterval: ({ state }) =>
      againMs(state.error, state.data?.status === 'paused' && PAUSED_EVERY_MS),
  })
  const isFollowed = data !== undefined && isMoving(data.status)
  const [ends, setEnds] = useState(0)
  useEffect(() => {
    if (id === null || !isFollowed) return undefined
    return followVisibly(id, {
      onBatch: (batch) => queries.setQueryData(batchKey(id), batch),
      onEnd: () => {
        // A change made meanwhile may have restarted it: then it is followed again.
        void queries
          .invalidateQueries({ queryKey: batchKey(id) })
          .then(() => setEnds((count) => count + 1))
        // Its cost and state are shown elsewhere, too.
        for (const key of ['account', 'batches', 'ledger', 'usage']) {
          void queries.invalidateQueries({ queryKey: [key] })
        }
      },
    })
  }, [id, isFollowed, ends])
  return { batch: id === null ? undefined : data, error }
}

interface Follower {
  /** Called when the batch has changed and continues. */
  readonly onBatch: (batch: BatchView) => void
  /**
   * Called when the batch has stopped according to the stream, or could not be followed: it must be
   * read again.
   */
  readonly onEnd: () => void
}

/** Opens the stream whenever the page is visible; returns a function that ends it. */
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

/**
 * Opens the stream once; returns a function that closes it. After `onEnd` nothing is called any
 * more.
 */
function follow(id: string, { onBatch, onEnd }: Follower): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  const stream = new EventSource(`${batchPath(id)}/events`)
  const end = (): void => {
    stream.close()
    onEnd()
  }
  stream.addEventListener('batch', ({ data }: MessageEvent<string>) => {
    const batch = batchIn(data)
    // States in which the user may act are read from the API: an event may be older than the user's
    // last change.
    if (isMoving(batch.status)) onBatch(batch)
    else end()
  })
  stream.addEventListener('end', end)
  // Where the connection broke, the browser comes back by itself, but says nothing until it can;
  // where the service refused, it does not.
  stream.addEventListener('error', () => {
    timer ??= setTimeout(end, AGAIN_MS)
  })
  stream.addEventListener('open', () => {
    clearTimeout(timer)
    timer = undefined
  })
  return () => {
    clearTimeout(timer)
    stream.close()
  }
}

function batchIn(data: string): BatchView {
  // Safe because the service writes the same object there that it answers a read with.
  return JSON.parse(data) as BatchView
}
