import { QueryClient, queryOptions } from '@tanstack/preact-query'
import type { AccountView } from '@plumbline/contract/account'
import type { SessionView } from '@plumbline/contract/app/session'
import type { BatchPage, BatchView } from '@plumbline/contract/batch-view'
import type { UsageView } from '@plumbline/contract/usage'
import { callApp } from './app-calls.ts'
import { callJson, RefusedCall } from './http.ts'

/** Retries before the service is reported as unreachable. */
const RETRIES = 2
/** Milliseconds between automatic retries once the service is reported as unreachable. */
const AGAIN_MS = 4_000
/** Milliseconds for which a result counts as fresh. */
const FRESH_MS = 5_000
/** Milliseconds between two reads of running batches on pages that list them. */
const LIST_EVERY_MS = 4_000

/** States in which a batch changes without an action of the user. */
export const MOVING: readonly BatchView['status'][] = [
  'analyzing',
  'running',
  'finalizing',
  'canceling',
]

/** States in which the result of a batch is final. */
export const ENDED: readonly BatchView['status'][] = ['completed', 'canceled']

/** Caches results; a read is retried if the service was unreachable, never if it refused. */
export function createQueries(): QueryClient {
  const client = new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: FRESH_MS,
        retry: mayHelp,
        retryDelay: delayMs,
        networkMode: 'always',
        refetchInterval: ({ state }) => againMs(state.error, false),
      },
      mutations: { retry: false, networkMode: 'always' },
    },
  })
  // A session that was ended elsewhere is noticed by the next read.
  client.getQueryCache().subscribe(({ type, query }) => {
    if (type !== 'updated' || !isSessionEnd(query.state.error)) return
    if (query.queryKey[0] !== 'session') void client.invalidateQueries({ queryKey: ['session'] })
  })
  return client
}

function mayHelp(failures: number, error: unknown): boolean {
  const isLimited = error instanceof RefusedCall && error.status === 429
  return failures < RETRIES && (isAway(error) || isLimited)
}

/** Whether there was no response, or one that says that the service cannot answer now. */
function isAway(error: unknown): boolean {
  return error instanceof RefusedCall && (error.status === 0 || error.status >= 500)
}

/**
 * Milliseconds until a query is read again, for one that is read every `everyMs`, or once (false):
 * where the service was unreachable, the message says that the page tries again.
 */
export function againMs(error: unknown, everyMs: number | false): number | false {
  return isAway(error) ? AGAIN_MS : everyMs
}

function delayMs(failures: number, error: unknown): number {
  const wished = error instanceof RefusedCall ? error.retryAfterSeconds : null
  return wished === null ? Math.min(1_000 * 2 ** failures, 8_000) : wished * 1_000
}

/** Whether a refusal says that the session has ended. */
export function isSessionEnd(error: unknown): boolean {
  return error instanceof RefusedCall && error.status === 401
}

/** The signed-in user. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: async ({ signal, client }) => {
    const next = await callApp('readSession', undefined, { signal })
    adoptSession(client, next)
    return next
  },
  staleTime: 30_000,
  refetchOnWindowFocus: 'always',
})

/**
 * Drops what is cached if a session shows another user or account than the one before: another
 * window of the browser may have switched.
 */
export function adoptSession(client: QueryClient, next: SessionView): void {
  const before = client.getQueryData<SessionView>(['session'])
  if (before === undefined || shownBy(before) === shownBy(next)) return
  client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' })
}

/** Names the user and the account whose data a session shows. */
export function shownBy({ user, account }: SessionView): string {
  return `${user?.id ?? ''} ${account?.id ?? ''}`
}

/** Balance and limits of the account shown. */
export const accountQuery = queryOptions({
  queryKey: ['account'],
  queryFn: async ({ signal }) =>
    await callJson<AccountView>('GET', '/v1/account', undefined, { signal }),
})

/** The newest batches; read again while some of them run. */
export const recentBatchesQuery = queryOptions({
  queryKey: ['batches', 'recent'],
  queryFn: async ({ signal }) =>
    await callJson<BatchPage>('GET', '/v1/batches?limit=10', undefined, { signal }),
  refetchInterval: ({ state: { data, error } }) =>
    againMs(error, (data?.data ?? []).some(({ status }) => isMoving(status)) && LIST_EVERY_MS),
})

/** The batches that run, however many newer ones there are. */
export const runningBatchesQuery = queryOptions({
  queryKey: ['batches', 'running'],
  queryFn: async ({ signal }) =>
    await callJson<BatchPage>('GET', `/v1/batches?limit=10&status=${MOVING.join(',')}`, undefined, {
      signal,
    }),
  refetchInterval: ({ state: { data, error } }) =>
    againMs(error, (data?.data ?? []).length > 0 && LIST_EVERY_MS),
})

/** Query key of one batch. */
export function batchKey(id: string): readonly unknown[] {
  return ['batch', id]
}

/** The path of one batch. */
export function batchPath(id: string): string {
  return `/v1/batches/${encodeURIComponent(id)}`
}

/** Reads one batch. */
export async function readBatch(id: string, signal?: AbortSignal): Promise<BatchView> {
  return await callJson<BatchView>('GET', batchPath(id), undefined, { signal })
}

/** Whether a batch in this state changes without an action of the user. */
export function isMoving(status: BatchView['status']): boolean {
  return MOVING.includes(status)
}

/** The keys of the account. */
export const keysQuery = queryOptions({
  queryKey: ['keys'],
  queryFn: async ({ signal }) => await callApp('listKeys', undefined, { signal }),
})

/** Filters of usage: days as `YYYY-MM-DD`, grouped by the given parts. */
export interface UsageAsked {
  readonly from: string
  readonly to: string
  readonly by: string
}

/** Usage of the account on some days. */
export function usageQuery(asked: UsageAsked): {
  readonly queryKey: readonly unknown[]
  readonly queryFn: (context: { readonly signal: AbortSignal }) => Promise<UsageView>
} {
  const query = new URLSearchParams({ ...asked })
  return {
    queryKey: ['usage', asked],
    queryFn: async ({ signal }) =>
      await callJson<UsageView>('GET', `/v1/usage?${query.toString()}`, undefined, { signal }),
  }
}
