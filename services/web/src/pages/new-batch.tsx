import type { BatchView } from '@plumbline/contract/batch-view'
import { checksOf, priceCredits, type Product } from '@plumbline/contract/products'
import { useQueryClient } from '@tanstack/preact-query'
import { useLocation } from 'preact-iso'
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { sentenceOf } from '../api/http.ts'
import { useLiveBatch } from '../api/live-batch.ts'
import { batchKey } from '../api/queries.ts'
import { useAnnounce } from '../components/announcer.tsx'
import { stateText } from '../components/batch-state.tsx'
import { LinkButton } from '../components/button.tsx'
import { Skeleton, Card, Notice, Page } from '../components/page.tsx'
import { ProductField } from '../components/product-field.tsx'
import { Foreign, visibleText } from '../components/text.tsx'
import * as format from '../format.ts'
import { useMay } from '../session.tsx'
import { useChanges } from './new-batch/changes.ts'
import { ChooseFile, type Chosen } from './new-batch/choose-file.tsx'
import { Preview } from './new-batch/preview.tsx'
import { Uploading, useUpload } from './new-batch/uploading.tsx'

/** Uploads a file, shows its content and cost, and starts it. */
export function NewBatch(): JSX.Element {
  const mayChange = useMay('member')
  return (
    <Page title="New batch" lead="Nothing is charged before you press Start.">
      {mayChange ? (
        <Steps />
      ) : (
        <Notice tone="warn" actions={<a href="/app/batches">All batches</a>}>
          You may read this account, but not submit batches. An owner can change your role.
        </Notice>
      )}
    </Page>
  )
}

function Steps(): JSX.Element {
  const { query, route } = useLocation()
  const queries = useQueryClient()
  const [product, setProduct] = useState<Product>('email')
  const id = query['id'] ?? null
  const { batch, error } = useLiveBatch(id)
  useStateAloud(batch)
  const changes = useChanges(id)
  const upload = useUpload((received) => {
    queries.setQueryData(batchKey(received.id), received)
    // In the address, so that a reload comes back to it.
    route(`/app/batches/new?id=${received.id}`, true)
  })
  const shown = changes.wished.product ?? batch?.product ?? product
  const choose = (chosen: Chosen): void => upload.send({ ...chosen, product })
  const take = (chosen: Product): void => {
    setProduct(chosen)
    if (id !== null) changes.change({ product: chosen })
  }
  return (
    <>
      <Card>
        <ProductField
          value={shown}
          disabled={upload.isSending || (batch !== undefined && !isOpen(batch))}
          onChange={take}
          hint={`${ABOUT[shown]} ${priceOf(shown)}`}
        />
        {changes.fault !== null && <ChangeFault fault={changes.fault} />}
        {upload.fault !== null && <Notice tone="bad">{upload.fault}</Notice>}
        {error !== null && <Notice tone="bad">{sentenceOf(error)}</Notice>}
        {id === null && (
          // What was typed is there again after an upload that was refused or stopped.
          <div class={upload.isSending ? undefined : 'stack'} hidden={upload.isSending}>
            <ChooseFile onChoose={choose} />
          </div>
        )}
        {upload.isSending && <Uploading upload={upload} />}
        {id !== null && batch === undefined && error === null && <Skeleton rows={2} />}
        {batch !== undefined && <Received batch={batch} />}
      </Card>
      {batch !== undefined && isOpen(batch) && (
        <Preview key={batch.id} batch={batch} changes={changes} />
      )}
    </>
  )
}

/** Announces how far a batch is; once it is ready, its cost is announced in place of that. */
function useStateAloud(batch: BatchView | undefined): void {
  const announce = useAnnounce()
  const isReady = batch?.status === 'ready' && batch.error === null
  const text = batch === undefined || isReady ? null : stateText(batch)
  useEffect(() => {
    if (text !== null) announce(`${text}.`)
  }, [text])
}

/** Why a change was refused; it may have been made far below, among many columns. */
function ChangeFault({ fault }: { readonly fault: string }): JSX.Element {
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => box.current?.scrollIntoView({ block: 'nearest' }), [fault])
  return (
    <div ref={box}>
      <Notice tone="bad">{fault}</Notice>
    </div>
  )
}

/** What each product finds out. */
const ABOUT: Readonly<Record<Product, string>> = {
  email: 'Whether each address takes mail.',
  ip: 'Where each address is, and whether it hides.',
  phone: 'Whether each number is connected, and its network.',
  domain: 'Registration, mail set-up and safety of each name.',
  deliverability:
    'A deeper look at each address, catch-all and spam traps too, and at a phone beside it.',
  'contact-intel': 'All that is known of email, phone, IP and domain.',
  'fraud-signals': 'A score of risk from email, phone, IP and domain.',
}

/** What a row costs: with the value that it must have, and with all that it may have. */
function priceOf(product: Product): string {
  const checks = checksOf(product)
  const [least, most] = [priceCredits(product, checks.slice(0, 1)), priceCredits(product, checks)]
  const range = least === most ? '' : `${format.number(least)} to `
  return `${range}${format.counted(most, 'credit')} a row.`
}

/** Whether a batch can still be changed, and started. */
function isOpen({ status }: BatchView): boolean {
  return status === 'analyzing' || status === 'ready'
}

/** The uploaded file, and its state if it continues elsewhere. */
function Received({ batch }: { readonly batch: BatchView }): JSX.Element {
  const { status, file, id } = batch
  return (
    <div class="stack tight">
      <div class="row spread">
        <span>
          <span class="muted">Received: </span>
          <Foreign text={file?.name ?? batch.name ?? id} />
        </span>
        <LinkButton href="/app/batches/new" small>
          Submit another
        </LinkButton>
      </div>
      {status === 'failed' && (
        <Notice tone="bad">{visibleText(batch.error?.message ?? 'It could not be read.')}</Notice>
      )}
      {!isOpen(batch) && status !== 'failed' && (
        <Notice actions={<a href={`/app/batches/${id}`}>Open it</a>}>
          This batch was started already.
        </Notice>
      )}
    </div>
  )
}
