import type { AccountView } from '@plumbline/contract/account'
import { useQuery } from '@tanstack/preact-query'
import type { JSX } from 'preact'
import { sentenceOf } from '../api/http.ts'
import { accountQuery } from '../api/queries.ts'
import * as format from '../format.ts'
import { Card, Notice, ReservedSpace } from './page.tsx'
import { Facts } from './table.tsx'
import { Time } from './text.tsx'

/** What an account can spend. */
export function Balance({ actions }: { readonly actions?: JSX.Element }): JSX.Element {
  const { data, error } = useQuery(accountQuery)
  return (
    <Card title="Balance" actions={actions}>
      {error !== null && <Notice tone="bad">{sentenceOf(error)}</Notice>}
      {data !== undefined && <Figures credits={data.credits} />}
      {data === undefined && error === null && (
        <ReservedSpace>
          <Figures credits={UNREAD} />
        </ReservedSpace>
      )}
    </Card>
  )
}

const UNREAD: AccountView['credits'] = {
  allowance: 0,
  packs: 0,
  held: 0,
  resets_at: '2026-01-01T00:00:00Z',
}

function Figures({ credits }: { readonly credits: AccountView['credits'] }): JSX.Element {
  const { allowance, packs, held, resets_at: resetsAt } = credits
  return (
    <>
      <div>
        <div class="figure">{format.number(allowance + packs)}</div>
        <div class="muted">credits to spend</div>
      </div>
      <Facts
        facts={[
          ['Of this month', format.number(allowance)],
          ['Of packs', format.number(packs)],
          ['Held for batches', format.number(held)],
          ['Starts anew', <Time key="at" at={resetsAt} dayOnly />],
        ]}
      />
    </>
  )
}
