import type { EntryOutcome } from '@plumbline/contract/app/entry'
import { useLocation } from 'preact-iso'
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { callApp } from '../api/app-calls.ts'
import { Button, LinkButton } from '../components/button.tsx'
import { PasswordField } from '../components/entry-fields.tsx'
import { Form } from '../components/field.tsx'
import { Skeleton, Notice, Page, Said } from '../components/page.tsx'
import { useLinkCode } from '../link-code.ts'
import { useSession, useSessionActions } from '../session.tsx'
import { useSubmission } from '../submit.ts'

/**
 * The page of a verification link, which takes effect at once; that of a sign-up asks for its
 * password.
 */
export function Verify(): JSX.Element {
  const token = useLinkCode()
  const { user } = useSession()
  const { route } = useLocation()
  const { refresh } = useSessionActions()
  const { fault, run } = useSubmission()
  const [outcome, setOutcome] = useState<EntryOutcome | null>(null)
  const verify = async (link: string, password?: string): Promise<void> => {
    const form = { token: link, ...(password === undefined ? {} : { password }) }
    const { outcome: met } = await callApp('verify', form)
    await refresh()
    if (met === 'verified') route('/app/sign-in?after=verified', true)
    else if (met === 'signed_in') route('/app', true)
    else setOutcome(met)
  }
  useEffect(() => {
    if (token !== null) void run(() => verify(token))
  }, [token])
  const hasEnded = token === null || fault !== null || outcome === 'email_changed'
  return (
    <Page title="Verify the address">
      {token === null && (
        <Notice tone="warn">
          The link is incomplete. Open it again from the message, or ask for a new one by signing
          in.
        </Notice>
      )}
      {fault !== null && <Notice tone="bad">{fault}</Notice>}
      {outcome === 'email_changed' && <Said>The new address is active.</Said>}
      {outcome === 'password_needed' && token !== null && (
        <SignUpPassword verify={(password) => verify(token, password)} />
      )}
      {outcome === null && !hasEnded && <Skeleton rows={2} />}
      {hasEnded && (
        <div>
          <LinkButton href={user === null ? '/app/sign-in' : '/app'} kind="primary">
            Go on
          </LinkButton>
        </div>
      )}
    </Page>
  )
}

/** The form that opens the account of a sign-up. */
function SignUpPassword({
  verify,
}: {
  readonly verify: (password: string) => Promise<void>
}): JSX.Element {
  const [password, setPassword] = useState('')
  const { isBusy, fault, run } = useSubmission()
  return (
    <>
      {fault === null ? (
        <Notice>
          Enter the password that you chose when you signed up. If you did not sign up, close this
          page: somebody else entered your address, and no account is made.
        </Notice>
      ) : (
        <Notice tone="bad">{fault}</Notice>
      )}
      <Form onSubmit={() => void run(() => verify(password))}>
        <PasswordField value={password} onInput={setPassword} />
        <Button kind="primary" type="submit" busy={isBusy}>
          Sign in
        </Button>
      </Form>
      <div class="small">
        <a href="/app/sign-up">I do not know it; sign up again</a>
      </div>
    </>
  )
}
