import type { JSX } from 'preact'
import { useMay } from '../session.tsx'
import { LinkButton } from './button.tsx'

/** The way to a new batch, for who may make one. */
export function NewBatchButton(): JSX.Element | null {
  if (!useMay('member')) return null
  return (
    <LinkButton href="/app/batches/new" kind="primary" role="button">
      New batch
    </LinkButton>
  )
}
