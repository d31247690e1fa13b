import type { InvitationView } from '@plumbline/contract/app/members'
import { useLocation } from 'preact-iso'
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { callApp } from '../api/app-calls.ts'
import { Button, LinkButton } from '../components/button.tsx'
import { Skeleton, Notice, Page } from '../components/page.tsx'
import { Foreign } from '../components/text.tsx'
import { useLinkCode } from '../link-code.ts'
import { useSession, useSessionActions } from '../session.tsx'
import { useSubmission } from '../submit.ts'
import { SignUpForm } from './sign-up.tsx'

/** The page of an invitation link. */
export function Invitation(): JSX.Element {
  const token = useLinkCode()
  const [invitation, setInvitation] = useState<InvitationView | null>(null)
  const { fault, run } = useSubmission()
  useEffect(() => {
    if (token === null) return
    void run(async () => {
      setInvitation(await callApp('lookAtInvitation', { token }))
    })
  }, [token])
  return (
    <Page title="Invitation">
      {token === null && (
        <Notice tone="warn">The link is incomplete. Open it again from where you got it.</Notice>
      )}
      {fault !== null && <Notice tone="bad">{fault}</Notice>}
      {token !== null && fault === null && invitation === null && <Skeleton />}
      {token !== null && invitation !== null && <Invited token={token} invitation={invitation} />}
    </Page>
  )
}

function Invited({
  token,
  invitation,
}: {
  readonly token: string
  readonly invitation: InvitationView
}): JSX.Element {
  const { user } = useSession()
  const { route } = useLocation()
  const { refresh, signOut } = useSessionActions()
  const { isBusy, fault, run } = useSubmission()
  const accept = async (): Promise<void> => {
    await callApp('acceptInvitation', { token })
    await refresh()
    route('/app', true)
  }
  return (
    <>
      <p>
        You are invited to <Foreign text={invitation.account_name} /> as {invitation.role}.
      </p>
      {fault !== null && <Notice tone="bad">{fault}</Notice>}
      {user !== null && (
        <>
          <Button kind="primary" busy={isBusy} onClick={() => void run(accept)}>
            Join the account
          </Button>
          <div class="row spread small">
            <span class="muted">
              You are signed in as <Foreign text={user.email} />.
            </span>
            <Button small busy={isBusy} onClick={() => void run(signOut)}>
              Sign out
            </Button>
          </div>
        </>
      )}
      {user === null && invitation.has_user && (
        <>
          <Notice>
            Sign in as <Foreign text={invitation.email} />, then open the link of the invitation
            again.
          </Notice>
          <LinkButton href="/app/sign-in" kind="primary">
            Go to the way in
          </LinkButton>
        </>
      )}
      {user === null && !invitation.has_user && (
        <SignUpForm invitation={token} invitedEmail={invitation.email} />
      )}
    </>
  )
}
