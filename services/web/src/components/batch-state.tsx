import type { BatchView } from '@plumbline/contract/batch-view'
import type { JSX } from 'preact'
import * as format from '../format.ts'

type Tone = 'good' | 'warn' | 'bad' | 'live' | 'none'

/** How each state is told to a person. */
const STATES: Readonly<Record<string, readonly [text: string, tone: Tone]>> = {
  analyzing: ['Reading the file', 'live'],
  ready: ['Ready to start', 'warn'],
  running: ['Running', 'live'],
  paused: ['Paused', 'warn'],
  finalizing: ['Finishing', 'live'],
  completed: ['Completed', 'good'],
  canceling: ['Canceling', 'warn'],
  canceled: ['Canceled', 'none'],
  failed: ['Failed', 'bad'],
  expired: ['Erased', 'none'],
}

/** What tells how a batch stands. */
type Standing = Pick<BatchView, 'status' | 'error'>

/** The state in words. */
export function stateText({ status, error }: Standing): string {
  if (status === 'ready' && error !== null) {
    return error.field === 'mapping' ? 'Needs a column' : 'Not startable yet'
  }
  return STATES[status]?.[0] ?? status
}

/** The state as a badge. */
export function StateBadge({ batch }: { readonly batch: Standing }): JSX.Element {
  return <span class={`badge ${STATES[batch.status]?.[1] ?? 'none'}`}>{stateText(batch)}</span>
}

/** How far a batch is, as a bar with its share beside it. */
export function Progress({ batch }: { readonly batch: BatchView }): JSX.Element {
  const { progress, rows } = batch
  return (
    <div class="stack tight">
      <progress class="meter" max={1} value={progress} aria-label="Progress" />
      <div class="row spread small muted number">
        <span>{format.percent(progress)}</span>
        <span>
          {format.number(rows.done)} of {format.counted(rows.total, 'row')}
        </span>
      </div>
    </div>
  )
}

/** What a batch is called: its own name, else that of its file, else its id. */
export function batchTitle({ name, file, id }: BatchView): string {
  return name ?? file?.name ?? id
}

/** Names of products as people say them. */
export const PRODUCT_NAMES: Readonly<Record<BatchView['product'], string>> = {
  email: 'Email validation',
  ip: 'IP intelligence',
  phone: 'Phone lookup',
  domain: 'Domain intelligence',
  deliverability: 'Deliverability',
  'contact-intel': 'Contact intelligence',
  'fraud-signals': 'Fraud signals',
}
