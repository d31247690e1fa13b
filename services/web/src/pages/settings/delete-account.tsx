import { useLocation } from 'preact-iso'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { callApp } from '../../api/app-calls.ts'
import { Button } from '../../components/button.tsx'
import { PasswordField } from '../../components/entry-fields.tsx'
import { Field, Form } from '../../components/field.tsx'
import { Card, Notice } from '../../components/page.tsx'
import { Foreign } from '../../components/text.tsx'
import { useStepUp } from '../../step-up.tsx'
import { useSession, useSessionActions } from '../../session.tsx'
import { useSubmission } from '../../submit.ts'

/** Deletes the account, confirmed by its name and the password. */
export function DeleteAccount(): JSX.Element {
  const { account } = useSession()
  const { route } = useLocation()
  const { refresh } = useSessionActions()
  const withStepUp = useStepUp()
  const [name, setName] = useState('')
  const [password, setPassword] = useState('')
  const { isBusy, fault, run } = useSubmission()
  const end = async (): Promise<void> => {
    await withStepUp(async () => await callApp('deleteAccount', { confirm_name: name, password }))
    await refresh()
    route('/app/sign-in?after=deleted', true)
  }
  return (
    <Card title="Close the account">
      <details class="details">
        <summary>Close it for good</summary>
        <Form onSubmit={() => void run(end)}>
          <p>
            Keys and sessions end at once, what is left of credits is lost, and batches and results
            are erased within 24 hours. Type{' '}
            <strong>
              <Foreign text={account?.name ?? ''} />
            </strong>{' '}
            to say that you mean it.
          </p>
          {fault !== null && <Notice tone="bad">{fault}</Notice>}
          <Field label="What the account is called" value={name} onInput={setName} required />
          <PasswordField label="Password to close it" value={password} onInput={setPassword} />
          <div>
            <Button kind="danger" type="submit" busy={isBusy}>
              Close the account
            </Button>
          </div>
        </Form>
      </details>
    </Card>
  )
}
