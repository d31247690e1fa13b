import { useLocation } from 'preact-iso'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { callApp } from '../api/app-calls.ts'
import { Button } from '../components/button.tsx'
import { EmailField, NewPasswordField } from '../components/entry-fields.tsx'
import { Field, Form } from '../components/field.tsx'
import { Notice, Page } from '../components/page.tsx'
import { number } from '../format.ts'
import { useSession, useSessionActions } from '../session.tsx'
import { useSubmission } from '../submit.ts'
import { CheckMail } from './sign-in.tsx'

/** The page to create an account: name, email and password. */
export function SignUp(): JSX.Element {
  const { service } = useSession()
  const { free_credits: credits } = service
  return (
    <Page
      title="Create an account"
      lead={credits === null ? undefined : `${number(credits)} credits every month, free. No card.`}
    >
      {service.sign_up === 'off' && (
        <Notice tone="warn">
          Accounts are not created here. Ask whoever runs this service to make one for you.
        </Notice>
      )}
      {service.sign_up === 'invite' && (
        <Notice tone="warn">
          Accounts are by invitation here. Open the link of your invitation to create one.
        </Notice>
      )}
      {service.sign_up === 'open' && <SignUpForm />}
      <div class="small">
        <a href="/app/sign-in">I have an account</a>
      </div>
    </Page>
  )
}

/** The form to sign up; with the code of an invitation the user joins the inviting account. */
export function SignUpForm({
  invitation,
  invitedEmail,
}: {
  readonly invitation?: string
  readonly invitedEmail?: string
}): JSX.Element {
  const { route } = useLocation()
  const { refresh } = useSessionActions()
  const [name, setName] = useState('')
  const [email, setEmail] = useState(invitedEmail ?? '')
  const [password, setPassword] = useState('')
  const [mustCheckMail, setCheckMail] = useState(false)
  const { isBusy, fault, run } = useSubmission()
  const create = async (): Promise<void> => {
    const { outcome } = await callApp('signUp', {
      name,
      email,
      password,
      ...(invitation === undefined ? {} : { invitation }),
    })
    if (outcome === 'signed_in') {
      await refresh()
      route('/app', true)
    } else {
      setCheckMail(true)
    }
  }
  if (mustCheckMail) return <CheckMail email={email} />
  return (
    <Form onSubmit={() => void run(create)}>
      {fault !== null && <Notice tone="bad">{fault}</Notice>}
      <Field label="Name" name="name" autocomplete="name" value={name} onInput={setName} required />
      <EmailField value={email} onInput={setEmail} disabled={invitedEmail !== undefined} />
      <NewPasswordField value={password} onInput={setPassword} />
      <Button kind="primary" type="submit" busy={isBusy}>
        Create account
      </Button>
    </Form>
  )
}
