import type { BatchView } from '@plumbline/contract/batch-view'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { RefusedCall, sentenceOf } from '../api/http.ts'
import { useLiveBatch } from '../api/live-batch.ts'
import { ENDED, isMoving } from '../api/queries.ts'
import { useAnnounce } from '../components/announcer.tsx'
import {
  batchTitle,
  PRODUCT_NAMES,
  Progress,
  StateBadge,
  stateText,
} from '../components/batch-state.tsx'
import { LinkButton } from '../components/button.tsx'
import { Disclosure } from '../components/disclosure.tsx'
import { NewBatchButton } from '../components/new-batch-button.tsx'
import { Skeleton, Card, Notice, Page } from '../components/page.tsx'
import { Facts } from '../components/table.tsx'
import { Foreign, Time, visibleText } from '../components/text.tsx'
import { batchFault } from '../batch-fault.ts'
import * as format from '../format.ts'
import { useProgressiveRendering } from '../progressive-rendering.ts'
import type { PageProps } from '../page-props.ts'
import { useMay } from '../session.tsx'
import { BatchActions } from './batch/actions.tsx'
import { RunAgain } from './batch/run-again.tsx'
import { Compare } from './batch/compare.tsx'
import { Downloads } from './batch/downloads.tsx'
import { Known } from './batch/known.tsx'
import { Rows } from './batch/rows.tsx'
import { Verdicts } from './batch/verdicts.tsx'

/** One batch, live: its progress, results, downloads and actions. */
export function Batch({ id }: PageProps): JSX.Element {
  const { batch, error } = useLiveBatch(id)
  useProgressAloud(batch)
  if (batch === undefined) {
    return (
      <Page title="Batch">
        {error === null ? (
          <Card>
            <Skeleton rows={6} />
          </Card>
        ) : (
          <Unreadable error={error} />
        )}
      </Page>
    )
  }
  return (
    <Page
      title={visibleText(batchTitle(batch))}
      heading={<Foreign text={batchTitle(batch)} />}
      lead={
        <>
          <StateBadge batch={batch} /> {PRODUCT_NAMES[batch.product]}
        </>
      }
      actions={<BatchActions batch={batch} />}
    >
      {error !== null && <Notice tone="bad">{sentenceOf(error)}</Notice>}
      {batch.status === 'ready' ? (
        <Ready batch={batch} />
      ) : (
        batch.error !== null && (
          <Notice tone="warn" actions={batch.status === 'failed' && <NewBatchButton />}>
            {batchFault(batch.error, batch.product)}
          </Notice>
        )
      )}
      {batch.resumes_at !== null && <Paused until={batch.resumes_at} />}
      <Standing batch={batch} />
      <Parts batch={batch} />
    </Page>
  )
}

/** Actions for a batch that waits to be started, or cannot be started. */
function Ready({ batch: { id, error, product } }: { readonly batch: BatchView }): JSX.Element {
  const mayStart = useMay('member')
  const next = mayStart
    ? 'Look at what was found in it, and start it there.'
    : 'An owner or member can start it.'
  return (
    <Notice
      tone="warn"
      actions={
        mayStart && (
          <LinkButton href={`/app/batches/new?id=${id}`} kind="primary">
            {error === null ? 'See what it costs' : 'See what was found'}
          </LinkButton>
        )
      }
    >
      {error === null
        ? `The file is read and nothing was charged. ${next}`
        : batchFault(error, product)}
    </Notice>
  )
}

/** Says that a paused batch does not rest for ever. */
function Paused({ until }: { readonly until: string }): JSX.Element {
  return (
    <Notice tone="warn">
      It resumes by itself on <Time at={until} />, and its other rows are charged as they are
      answered; until then their credits stay held. To have them back, cancel it.
    </Notice>
  )
}

/** Results and actions, rendered progressively. */
function Parts({ batch }: { readonly batch: BatchView }): JSX.Element {
  const { status } = batch
  const hasResult = status !== 'failed' && status !== 'expired'
  const parts = [
    ...(batch.running_at === undefined ? [] : [Verdicts]),
    ...(batch.running_at !== undefined && hasResult ? [Known, Downloads, Rows] : []),
    ...(ENDED.includes(status) ? [RunAgain, Compare] : []),
  ]
  // How far it is is drawn before the first of them.
  const drawn = useProgressiveRendering(parts.length + 1) - 1
  return (
    <>
      {parts.slice(0, drawn).map((Part, place) => (
        <Part key={place} batch={batch} />
      ))}
      {/* One of its own each time: it does not move, it is gone. */}
      {drawn < parts.length && <Skeleton key={`before ${drawn}`} rows={8} />}
    </>
  )
}

function Unreadable({ error }: { readonly error: Error }): JSX.Element {
  const isGone = error instanceof RefusedCall && error.status === 404
  return (
    <Notice tone="bad" actions={<a href="/app/batches">All batches</a>}>
      {isGone
        ? 'There is no such batch in this account: it was deleted, or belongs to another.'
        : sentenceOf(error)}
    </Notice>
  )
}

/** Announces progress to screen readers from time to time, and the end at once. */
function useProgressAloud(batch: BatchView | undefined): void {
  const announce = useAnnounce()
  const status = batch?.status
  const text = batch === undefined ? undefined : stateText(batch)
  const percent = batch === undefined ? '' : format.percent(batch.progress)
  useEffect(() => {
    if (text !== undefined) announce(`${text}.`)
  }, [text])
  useEffect(() => {
    if (status === 'running') announce(`${percent} done.`, true)
  }, [percent])
}

function Standing({ batch }: { readonly batch: BatchView }): JSX.Element {
  const { rows, credits, file } = batch
  return (
    <Card title="Progress">
      <Progress batch={batch} />
      {isMoving(batch.status) && batch.eta_seconds !== null && (
        <p class="muted">{format.about(batch.eta_seconds)} left.</p>
      )}
      <Facts
        facts={[
          ['Rows', format.number(rows.total)],
          ['Billable', format.number(rows.billable)],
          ['Duplicates', format.number(rows.duplicate)],
          ...(rows.known === 0 ? [] : [['Known', format.number(rows.known)] as const]),
          ['Refused', format.number(rows.refused)],
          ['Blank', format.number(rows.blank)],
        ]}
      />
      <Facts
        facts={[
          ['Credits at most', format.number(credits.estimate)],
          ['Held', format.number(credits.held)],
          ['Used', format.number(credits.used)],
          ['Given back', format.number(credits.released)],
        ]}
      />
      <Disclosure summary="File and times">
        {() => (
          <Facts long facts={[...fileFacts(file), ...timeFacts(batch), ...originFacts(batch)]} />
        )}
      </Disclosure>
    </Card>
  )
}

type Fact = readonly [string, JSX.Element | string]

function fileFacts(file: BatchView['file']): readonly Fact[] {
  if (file === null) return []
  const facts: Fact[] = [['Size', format.size(file.bytes)]]
  if (file.name !== null) facts.unshift(['File', <Foreign key="file" text={file.name} />])
  if (file.encoding !== null) facts.push(['Encoding', file.encoding])
  return facts
}

function originFacts({ id, origin, weights }: BatchView): readonly Fact[] {
  const facts: Fact[] = [['Id', id]]
  if (weights !== null) facts.unshift(['Weights', weights])
  if (origin !== null) {
    const text = origin.kind === 'recheck' ? 'Rows of another, again' : 'Another, scored again'
    facts.unshift([
      'Made of',
      <a key="origin" href={`/app/batches/${origin.batch}`}>
        {text}
      </a>,
    ])
  }
  return facts
}

function timeFacts(batch: BatchView): readonly Fact[] {
  const times: readonly (readonly [string, string | null | undefined])[] = [
    ['Created', batch.created_at],
    ['Started', batch.running_at],
    ['Completed', batch.completed_at],
    ['Canceled', batch.canceled_at],
    ['Failed', batch.failed_at],
    [batch.expired_at === undefined ? 'Erased on' : 'Erased', batch.expired_at ?? batch.expires_at],
  ]
  return times.flatMap(([name, at]) =>
    at == null ? [] : [[name, <Time key={name} at={at} />] as const],
  )
}
