import { useLocation } from 'preact-iso'
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { callApp } from '../api/app-calls.ts'
import { LinkButton } from '../components/button.tsx'
import { Skeleton, Notice, Page } from '../components/page.tsx'
import { useLinkCode } from '../link-code.ts'
import { useSession, useSessionActions } from '../session.tsx'
import { useSubmission } from '../submit.ts'

/** The page of a verification link, which takes effect at once. */
export function Verify(): JSX.Element {
  const token = useLinkCode()
  const { user } = useSession()
  const { route } = useLocation()
  const { refresh } = useSessionActions()
  const { fault, run } = useSubmission()
  const [isChanged, setChanged] = useState(false)
  useEffect(() => {
    if (token === null) return
    void run(async () => {
      const { outcome } = await callApp('verify', { token })
      await refresh()
      if (outcome === 'verified') route('/app/sign-in?after=verified', true)
      else if (outcome === 'signed_in') route('/app', true)
      else setChanged(true)
    })
  }, [token])
  return (
    <Page title="Verify the address">
      {token === null && (
        <Notice tone="warn">
          The link is incomplete. Open it again from the message, or ask for a new one by signing
          in.
        </Notice>
      )}
      {fault !== null && <Notice tone="bad">{fault}</Notice>}
      {isChanged && <Notice tone="good">The new address is active.</Notice>}
      {token !== null && fault === null && !isChanged && <Skeleton rows={2} />}
      {(token === null || fault !== null || isChanged) && (
        <div>
          <LinkButton href={user === null ? '/app/sign-in' : '/app'} kind="primary">
            Go on
          </LinkButton>
        </div>
      )}
    </Page>
  )
}
