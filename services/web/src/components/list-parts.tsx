import type { JSX } from 'preact'
import { sentenceOf } from '../api/http.ts'
import type { List } from '../api/list.ts'
import { Button } from './button.tsx'
import { Notice, Skeleton } from './page.tsx'

/** What stands above a list: why it could not be read, or a placeholder until it is. */
export function ListHead({
  list: { data, error, readAgain },
  rows,
}: {
  readonly list: List<unknown>
  /** Rows of the placeholder. */
  readonly rows: number
}): JSX.Element | null {
  if (error === null) return data === undefined ? <Skeleton rows={rows} /> : null
  return (
    <Notice tone="bad" actions={<Button onClick={readAgain}>Try again</Button>}>
      {sentenceOf(error)}
    </Notice>
  )
}

/** The button below a list that shows more of it. */
export function ShowEarlier({
  list,
  children,
}: {
  readonly list: List<unknown>
  readonly children: string
}): JSX.Element | null {
  if (!list.hasEarlier) return null
  return (
    <div>
      <Button busy={list.isReadingEarlier} onClick={list.readEarlier}>
        {children}
      </Button>
    </div>
  )
}
