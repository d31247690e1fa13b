import { useLocation } from 'preact-iso'
import type { JSX } from 'preact'
import { LinkButton } from '../components/button.tsx'
import { Notice, Page } from '../components/page.tsx'
import { useMay } from '../session.tsx'
import { EraseForm } from './erase/form.tsx'
import { Receipt } from './erase/receipt.tsx'
import { Receipts } from './erase/receipts.tsx'

/** Erases values from everything stored for the account, and shows the receipts. */
export function Erase(): JSX.Element {
  const { query } = useLocation()
  const mayErase = useMay('owner')
  const id = query['receipt']
  return (
    <Page
      title="Erase values"
      lead="For who asks you to forget them."
      actions={<LinkButton href="/app/settings">Settings</LinkButton>}
    >
      {id !== undefined && <Receipt key={id} id={id} />}
      {mayErase ? (
        <EraseForm />
      ) : (
        <Notice tone="warn">
          Erased data cannot be restored, so only owners of the account may erase; ask one of them.
        </Notice>
      )}
      <Receipts shown={id} />
    </Page>
  )
}
