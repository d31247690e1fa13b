import { useLocation } from 'preact-iso'
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { callApp } from '../api/app-calls.ts'
import { useAnnounce } from '../components/announcer.tsx'
import { Button } from '../components/button.tsx'
import { EmailField, NewPasswordField } from '../components/entry-fields.tsx'
import { Field, Form } from '../components/field.tsx'
import { Notice, Page } from '../components/page.tsx'
import { number } from '../format.ts'
import { useSession, useSessionActions } from '../session.tsx'
import { useSubmission } from '../submit.ts'

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

/** The notice that a message with a link was sent, with an action to send it again. */
function CheckMail({ email }: { readonly email: string }): JSX.Element {
  const announce = useAnnounce()
  const [isSent, setSent] = useState(false)
  const { isBusy, fault, run } = useSubmission()
  const resend = async (): Promise<void> => {
    await callApp('resendVerification', { email })
    setSent(true)
    announce('Sent again.')
  }
  useEffect(() => announce('Open the link of the message that is on its way.'), [])
  return (
    <>
      <Notice tone="good">
        If <bdi>{email}</bdi> can be used, a message with a link is on its way. Open the link to go
        on; it works for a limited time.
      </Notice>
      {fault !== null && <Notice tone="bad">{fault}</Notice>}
      <div>
        <Button small busy={isBusy} disabled={isSent} onClick={() => void run(resend)}>
          {isSent ? 'Sent again' : 'Send it again'}
        </Button>
      </div>
    </>
  )
}
