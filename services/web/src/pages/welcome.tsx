import { useLocation } from 'preact-iso'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { callApp } from '../api/app-calls.ts'
import { Button } from '../components/button.tsx'
import { EmailField, NewPasswordField } from '../components/entry-fields.tsx'
import { Form } from '../components/field.tsx'
import { Notice, Page } from '../components/page.tsx'
import { useLinkCode } from '../link-code.ts'
import { ownPath } from '../own-path.ts'
import { useSessionActions } from '../session.tsx'
import { useSubmission } from '../submit.ts'

/**
 * The page of a link that the program printed: the first user takes over an account, or a user sets
 * a new password.
 */
export function Welcome(): JSX.Element {
  const code = useLinkCode()
  return (
    <Page title="Welcome" lead="Choose how you sign in from now on.">
      {code === null ? (
        <Notice tone="warn">
          The link is incomplete, or it was used. <code>npm run cli -- user link</code> and your
          address makes a new one; where you have a password, <a href="/app/sign-in">sign in</a>.
        </Notice>
      ) : (
        <WelcomeForm code={code} />
      )}
    </Page>
  )
}

function WelcomeForm({ code }: { readonly code: string }): JSX.Element {
  const { route, query } = useLocation()
  const { refresh } = useSessionActions()
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const { isBusy, fault, run } = useSubmission()
  const begin = async (): Promise<void> => {
    const { outcome } = await callApp('welcome', { code, email, password })
    await refresh()
    route(outcome === 'signed_in' ? ownPath(query['next']) : '/app/sign-in', true)
  }
  return (
    <Form onSubmit={() => void run(begin)}>
      {fault !== null && <Notice tone="bad">{fault}</Notice>}
      <EmailField value={email} onInput={setEmail} />
      <NewPasswordField value={password} onInput={setPassword} />
      <Button kind="primary" type="submit" busy={isBusy}>
        Open the app
      </Button>
    </Form>
  )
}
