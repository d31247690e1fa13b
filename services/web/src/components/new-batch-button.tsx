import type { JSX } from 'preact'
import { useMay } from '../session.tsx'
import { LinkButton } from './button.tsx'

/** Link to the page for a new batch; null if the user may not create one. */
export function NewBatchButton(): JSX.Element | null {
  if (!useMay('member')) return null
  return (
    <LinkButton href="/app/batches/new" kind="primary" role="button">
      New batch
    </LinkButton>
  )
}
