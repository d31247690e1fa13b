import type { ErasureView } from '@plumbline/contract/erasure'
import { useQuery } from '@tanstack/preact-query'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { erasureKey, readErasure } from '../../api/erasures.ts'
import { sentenceOf } from '../../api/http.ts'
import { againMs } from '../../api/queries.ts'
import { useAnnounce } from '../../components/announcer.tsx'
import { CopyButton } from '../../components/copy.tsx'
import { Skeleton, Card, Notice } from '../../components/page.tsx'
import { Facts } from '../../components/table.tsx'
import { Time } from '../../components/text.tsx'
import * as format from '../../format.ts'

/** Milliseconds between two reads of a receipt until the erasure is completed. */
const EVERY_MS = 3_000

/** The receipt of one erasure, updated while it runs. */
export function Receipt({ id }: { readonly id: string }): JSX.Element {
  const announce = useAnnounce()
  const { data, error } = useQuery({
    queryKey: erasureKey(id),
    queryFn: async ({ signal }) => await readErasure(id, signal),
    refetchInterval: ({ state: { data: read, error: fault } }) =>
      againMs(fault, read?.status === 'running' && EVERY_MS),
  })
  const status = data?.status
  useEffect(() => {
    if (status === 'running') announce('It is being erased.')
    if (status === 'completed') announce('Nothing of these values is left.')
  }, [status])
  return (
    <Card title="Receipt">
      {error !== null && <Notice tone="bad">{sentenceOf(error)}</Notice>}
      {data === undefined && error === null && <Skeleton rows={6} />}
      {data !== undefined && <Standing receipt={data} />}
    </Card>
  )
}

function Standing({ receipt }: { readonly receipt: ErasureView }): JSX.Element {
  const { id, status, values, created_at: begunAt, completed_at: doneAt, erased } = receipt
  return (
    <>
      <Notice tone={status === 'completed' ? 'good' : 'plain'}>
        {status === 'completed'
          ? 'Nothing of these values is left.'
          : 'It is under way, and done within 24 hours. You may leave this page.'}
      </Notice>
      <Facts
        long
        facts={[
          ['Number', id],
          ['Values', format.number(values)],
          ['Begun', <Time key="begun" at={begunAt} />],
          ['Done', doneAt === null ? 'Not yet' : <Time key="done" at={doneAt} />],
        ]}
      />
      <Facts
        facts={[
          ['Rows', format.number(erased.rows)],
          ['Batches', format.number(erased.batches)],
          ['Results anew', format.number(erased.results)],
          ['Uploads', format.number(erased.uploads)],
          ['Answers', format.number(erased.answers)],
          ['Messages', format.number(erased.deliveries)],
          ['Facts', format.number(erased.facts)],
          ['Bought facts', format.number(erased.purchases)],
        ]}
      />
      <div class="row">
        <CopyButton text={id} name="Copy the number" />
        <span class="muted small">It holds none of the values: who asked you may have it.</span>
      </div>
    </>
  )
}
