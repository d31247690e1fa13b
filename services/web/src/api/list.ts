import { useInfiniteQuery } from '@tanstack/preact-query'
import { useMemo } from 'preact/hooks'
import { againMs } from './queries.ts'

/** A page of a list, and where the next one begins. */
interface ListPage<Entry> {
  readonly data: readonly Entry[]
  readonly next_cursor: string | null
}

/** A list that is read page by page, newest first. */
export interface List<Entry> {
  /** What is read so far; undefined until the first page is there. */
  readonly data: readonly Entry[] | undefined
  readonly error: Error | null
  readonly hasEarlier: boolean
  readonly isReadingEarlier: boolean
  readonly readEarlier: () => void
  readonly readAgain: () => void
}

/** Reads a list, of another filter anew; its first page again while an entry there changes. */
export function useList<Entry>({
  queryKey,
  readPage,
  isMoving = () => false,
  everyMs = 5_000,
}: {
  readonly queryKey: readonly unknown[]
  /** Reads a page; the first one if `cursor` is empty. */
  readonly readPage: (cursor: string, signal: AbortSignal) => Promise<ListPage<Entry>>
  /** Whether an entry changes without an action of the user. */
  readonly isMoving?: (entry: Entry) => boolean
  readonly everyMs?: number
}): List<Entry> {
  const { data, error, ...query } = useInfiniteQuery({
    queryKey,
    queryFn: async ({ pageParam, signal }) => await readPage(pageParam, signal),
    initialPageParam: '',
    getNextPageParam: ({ next_cursor: next }) => next ?? undefined,
    // Long lists are not read again in whole; what moves stands on the first page.
    refetchInterval: ({ state }) => {
      const [first, ...earlier] = state.data?.pages ?? []
      const moves = earlier.length === 0 && first?.data.some(isMoving) === true
      return againMs(state.error, moves && everyMs)
    },
  })
  const pages = data?.pages
  return {
    // The same until another page is read: what is typed beside it does not render its rows again.
    data: useMemo(() => pages?.flatMap((page) => page.data), [pages]),
    error,
    hasEarlier: query.hasNextPage,
    isReadingEarlier: query.isFetchingNextPage,
    readEarlier: () => void query.fetchNextPage(),
    readAgain: () => void query.refetch(),
  }
}
