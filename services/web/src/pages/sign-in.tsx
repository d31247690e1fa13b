import { useLocation } from 'preact-iso'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { callApp } from '../api/app-calls.ts'
import { Button } from '../components/button.tsx'
import { CodeField, EmailField, PasswordField } from '../components/entry-fields.tsx'
import { Form } from '../components/field.tsx'
import { Notice, Page, Said } from '../components/page.tsx'
import { ownPath } from '../own-path.ts'
import { useSession, useSessionActions } from '../session.tsx'
import { useSubmission } from '../submit.ts'

/** Why the user was sent here, shown above the form. */
const GREETINGS: Readonly<Record<string, string>> = {
  verified: 'The address is verified. Sign in to go on.',
  reset: 'The password is changed, and every session has ended. Sign in with the new one.',
  deleted: 'The account is closed. What it held is erased within 24 hours.',
}

/** The sign-in page. */
export function SignIn(): JSX.Element {
  const { query, route } = useLocation()
  const { service } = useSession()
  const { refresh } = useSessionActions()
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  const [needsCode, setNeedsCode] = useState(false)
  const { isBusy, fault, run } = useSubmission()
  const greeting = GREETINGS[query['after'] ?? '']
  const signIn = async (): Promise<void> => {
    const { outcome } = await callApp('signIn', {
      email,
      password,
      ...(needsCode ? { code } : {}),
    })
    setNeedsCode(outcome === 'code_needed')
    if (outcome !== 'signed_in') return
    await refresh()
    route(ownPath(query['next']), true)
  }
  return (
    <Page title="Sign in">
      {greeting !== undefined && fault === null && <Said>{greeting}</Said>}
      {query['next'] !== undefined && greeting === undefined && fault === null && (
        <Notice>Sign in to go on where you were.</Notice>
      )}
      {fault !== null && <Notice tone="bad">{fault}</Notice>}
      <Form onSubmit={() => void run(signIn)}>
        <EmailField value={email} onInput={setEmail} />
        <PasswordField value={password} onInput={setPassword} />
        {needsCode && <CodeField value={code} onInput={setCode} takesFocus />}
        <Button kind="primary" type="submit" busy={isBusy}>
          Sign in
        </Button>
      </Form>
      <div class="row spread small">
        {service.sign_up === 'open' ? <a href="/app/sign-up">I have no account yet</a> : <span />}
        <a href="/app/reset">I cannot get in</a>
      </div>
    </Page>
  )
}
