import { useLocation } from 'preact-iso'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { callApp } from '../api/app-calls.ts'
import { Button } from '../components/button.tsx'
import { EmailField, NewPasswordField } from '../components/entry-fields.tsx'
import { Form } from '../components/field.tsx'
import { Notice, Page, Said } from '../components/page.tsx'
import { useLinkCode } from '../link-code.ts'
import { useSession, useSessionActions } from '../session.tsx'
import { useSubmission } from '../submit.ts'

/** Resets a password: requests a link, or sets the new password with the link's code. */
export function Reset(): JSX.Element {
  const token = useLinkCode()
  const { service } = useSession()
  return (
    <Page title="Reset the password">
      {token !== null && <NewPassword token={token} />}
      {token === null && service.has_mail && <AskForLink />}
      {token === null && !service.has_mail && (
        <Notice>
          This installation sends no mail. Whoever runs it can make a link for you with{' '}
          <code>npm run cli -- user link</code> and your address.
        </Notice>
      )}
      <div class="small">
        <a href="/app/sign-in">Back to sign-in</a>
      </div>
    </Page>
  )
}

function AskForLink(): JSX.Element {
  const [email, setEmail] = useState('')
  const [isSent, setSent] = useState(false)
  const { isBusy, fault, run } = useSubmission()
  const ask = async (): Promise<void> => {
    await callApp('beginReset', { email })
    setSent(true)
  }
  return (
    <Form onSubmit={() => void run(ask)}>
      {fault !== null && <Notice tone="bad">{fault}</Notice>}
      {isSent && (
        <Said>If an account has this address, a message with a link is on its way to it.</Said>
      )}
      <EmailField value={email} onInput={setEmail} />
      <Button kind="primary" type="submit" busy={isBusy}>
        Send the link
      </Button>
    </Form>
  )
}

function NewPassword({ token }: { readonly token: string }): JSX.Element {
  const { route } = useLocation()
  const { refresh } = useSessionActions()
  const [password, setPassword] = useState('')
  const { isBusy, fault, run } = useSubmission()
  const change = async (): Promise<void> => {
    await callApp('confirmReset', { token, password })
    await refresh()
    route('/app/sign-in?after=reset', true)
  }
  return (
    <Form onSubmit={() => void run(change)}>
      {fault !== null && <Notice tone="bad">{fault}</Notice>}
      <NewPasswordField value={password} onInput={setPassword} />
      <Button kind="primary" type="submit" busy={isBusy}>
        Change password
      </Button>
    </Form>
  )
}
