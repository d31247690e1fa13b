import type { RecheckBody } from '@plumbline/contract/batch-origin'
import type { BatchView } from '@plumbline/contract/batch-view'
import type { Product } from '@plumbline/contract/products'
import { useQueryClient } from '@tanstack/preact-query'
import { useLocation } from 'preact-iso'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { callJson } from '../../api/http.ts'
import { batchKey, batchPath } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { CheckField, Field, Form } from '../../components/field.tsx'
import { Disclosure } from '../../components/disclosure.tsx'
import { Card, Notice } from '../../components/page.tsx'
import * as format from '../../format.ts'
import { useMay } from '../../session.tsx'
import { useSubmission } from '../../submit.ts'
import { verdictsOf } from './verdicts.tsx'

/** Products whose results have a score, which depends on weights. */
const SCORED: readonly Product[] = ['ip', 'domain', 'contact-intel', 'fraud-signals']

/**
 * Actions on an ended batch: check some of its rows again, or score its outcomes again, as a new
 * batch.
 */
export function RunAgain({ batch }: { readonly batch: BatchView }): JSX.Element | null {
  if (!useMay('member')) return null
  return (
    <Card title="Once more">
      <Disclosure summary="Check some rows again">{() => <Recheck batch={batch} />}</Disclosure>
      {SCORED.includes(batch.product) && (
        <Disclosure summary="Score it again">{() => <Rescore batch={batch} />}</Disclosure>
      )}
    </Card>
  )
}

function Recheck({ batch }: { readonly batch: BatchView }): JSX.Element {
  const queries = useQueryClient()
  const { route } = useLocation()
  const kinds = kindsOf(batch)
  const [only, setOnly] = useState<readonly string[]>(
    kinds.filter(({ key, count }) => key === 'unknown' && count !== 0).map(({ key }) => key),
  )
  const [days, setDays] = useState('')
  const { isBusy, fault, run } = useSubmission()
  const begin = async (): Promise<void> => {
    const wanted: RecheckBody = {
      only: [...only],
      ...(days.trim() === '' ? {} : { older_than_days: Number(days) }),
      // What it costs is seen first, and it is started there.
      start: false,
    }
    const path = `${batchPath(batch.id)}/recheck`
    const made = await callJson<BatchView>('POST', path, wanted)
    queries.setQueryData(batchKey(made.id), made)
    void queries.invalidateQueries({ queryKey: ['batches'] })
    route(`/app/batches/new?id=${made.id}`)
  }
  return (
    <Form onSubmit={() => void run(begin)}>
      <p class="muted">They become a new batch. You see what it costs before it starts.</p>
      {fault !== null && <Notice tone="bad">{fault}</Notice>}
      <fieldset class="fieldset">
        <legend class="legend">Rows that are</legend>
        <div class="checks">
          {kinds.map(({ key, name, count }) => (
            <CheckField
              key={key}
              label={count === null ? name : `${name} (${format.number(count)})`}
              checked={only.includes(key)}
              disabled={count === 0}
              onChange={(isOn) =>
                setOnly(isOn ? [...only, key] : only.filter((one) => one !== key))
              }
            />
          ))}
        </div>
      </fieldset>
      <Field
        label="Or were answered more than so many days ago"
        type="number"
        min={1}
        max={3_650}
        value={days}
        onInput={setDays}
      />
      <div>
        <Button type="submit" busy={isBusy} disabled={only.length === 0 && days.trim() === ''}>
          See what it costs
        </Button>
      </div>
    </Form>
  )
}

/**
 * Kinds of rows to check again, with the number of rows if it is known; a kind with none cannot be
 * chosen.
 */
function kindsOf(
  batch: BatchView,
): readonly { readonly key: string; readonly name: string; readonly count: number | null }[] {
  return [
    ...verdictsOf(batch.product).map(({ key, name }) => ({
      key,
      name,
      count: batch.verdicts[key] ?? 0,
    })),
    ...(batch.rows.known === 0 ? [] : [{ key: 'known', name: 'Known', count: batch.rows.known }]),
    { key: 'error', name: 'Errors', count: null },
    ...(batch.status === 'canceled' ? [{ key: 'canceled', name: 'Canceled', count: null }] : []),
  ]
}

function Rescore({ batch }: { readonly batch: BatchView }): JSX.Element {
  const queries = useQueryClient()
  const { route } = useLocation()
  const [weights, setWeights] = useState('')
  const { isBusy, fault, run } = useSubmission()
  const begin = async (): Promise<void> => {
    const path = `${batchPath(batch.id)}/rescore`
    const wanted = weights.trim() === '' ? {} : { weights: weights.trim() }
    const made = await callJson<BatchView>('POST', path, wanted)
    queries.setQueryData(batchKey(made.id), made)
    void queries.invalidateQueries({ queryKey: ['batches'] })
    route(`/app/batches/${made.id}`)
  }
  return (
    <Form onSubmit={() => void run(begin)}>
      <p class="muted">
        The same outcomes by other weights, as a batch of its own. Nothing is looked up, and nothing
        is charged.
      </p>
      {fault !== null && <Notice tone="bad">{fault}</Notice>}
      <Field
        label="Version of the weights"
        value={weights}
        onInput={setWeights}
        maxLength={100}
        hint={`Empty: those in use now. This batch was scored by ${batch.weights ?? 'none'}.`}
      />
      <div>
        <Button type="submit" busy={isBusy}>
          Score again
        </Button>
      </div>
    </Form>
  )
}
