import type { BatchView } from '@plumbline/contract/batch-view'
import type { JSX } from 'preact'
import * as format from '../format.ts'

type Tone = 'good' | 'warn' | 'bad' | 'live' | 'none'

/** Label and colour of each state. */
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

/** The fields that determine the label. */
type Standing = Pick<BatchView, 'status' | 'error'>

/** The label of the state. */
export function stateText({ status, error }: Standing): string {
  if (status === 'ready' && error !== null) {
    if (error.field === 'mapping') return 'Needs a column'
    return error.field === 'entry' ? 'Needs a file' : 'Not startable yet'
  }
  return STATES[status]?.[0] ?? status
}

/** The state as a badge. */
export function StateBadge({ batch }: { readonly batch: Standing }): JSX.Element {
  return <span class={`badge ${STATES[batch.status]?.[1] ?? 'none'}`}>{stateText(batch)}</span>
}

/** The progress of a batch, as a bar with its share. */
export function Progress({ batch }: { readonly batch: BatchView }): JSX.Element {
  const { progress, rows } = batch
  return (
    <div class="stack tight">
      <progress class="meter" max={1} value={progress} aria-label="Progress" />
      <div class="row spread small muted number">
        <span>{format.percent(progress)} of the lookups</span>
        <span>
          {format.number(rows.done)} of {format.counted(rows.total, 'row')}
        </span>
      </div>
    </div>
  )
}

/** Title of a batch: its name, else that of its file, else its id. */
export function batchTitle({ name, file, id }: BatchView): string {
  return name ?? file?.name ?? id
}

/** Display names of products. */
export const PRODUCT_NAMES: Readonly<Record<BatchView['product'], string>> = {
  email: 'Email validation',
  ip: 'IP intelligence',
  phone: 'Phone lookup',
  domain: 'Domain intelligence',
  deliverability: 'Deliverability',
  'contact-intel': 'Contact intelligence',
  'fraud-signals': 'Fraud signals',
}
