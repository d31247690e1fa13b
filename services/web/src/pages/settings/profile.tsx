import { useQueryClient } from '@tanstack/preact-query'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { callApp } from '../../api/app-calls.ts'
import { Button } from '../../components/button.tsx'
import { NewPasswordField, PasswordField } from '../../components/entry-fields.tsx'
import { Field, Form } from '../../components/field.tsx'
import { Card, Notice, Said } from '../../components/page.tsx'
import { useStepUp } from '../../step-up.tsx'
import { useSession, useSessionActions } from '../../session.tsx'
import { useSubmission } from '../../submit.ts'
import { sessionsKey } from './sessions.tsx'

/** The user's own name, address and password. */
export function Profile(): JSX.Element {
  return (
    <Card title="You">
      <NameForm />
      <div class="columns">
        <AddressForm />
        <PasswordForm />
      </div>
    </Card>
  )
}

function NameForm(): JSX.Element {
  const { user } = useSession()
  const { refresh } = useSessionActions()
  const [name, setName] = useState(user?.name ?? '')
  const [isSaved, setSaved] = useState(false)
  const { isBusy, fault, run } = useSubmission()
  const save = async (): Promise<void> => {
    setSaved(false)
    await callApp('changeUser', { name })
    setSaved(true)
    await refresh()
  }
  return (
    <Form onSubmit={() => void run(save)}>
      {fault !== null && <Notice tone="bad">{fault}</Notice>}
      {isSaved && <Said>The name is saved.</Said>}
      <div class="row bottom">
        <div class="grow">
          <Field
            label="Name"
            value={name}
            onInput={setName}
            autocomplete="name"
            maxLength={200}
            required
          />
        </div>
        <Button type="submit" busy={isBusy}>
          Save name
        </Button>
      </div>
    </Form>
  )
}

function AddressForm(): JSX.Element {
  const { user } = useSession()
  const { refresh } = useSessionActions()
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const [said, setSaid] = useState<string | null>(null)
  const { isBusy, fault, run } = useSubmission()
  const withStepUp = useStepUp()
  const change = async (): Promise<void> => {
    const { outcome } = await withStepUp(
      async () => await callApp('changeEmail', { email, password }),
    )
    setSaid(
      outcome === 'email_changed'
        ? 'The new address is active.'
        : 'Open the link of the message that is on its way to the new address.',
    )
    setPassword('')
    await refresh()
  }
  return (
    <Form onSubmit={() => void run(change)}>
      <h3>Change your address</h3>
      <p class="muted small wrap">Now: {user?.email}</p>
      {fault !== null && <Notice tone="bad">{fault}</Notice>}
      {said !== null && <Said>{said}</Said>}
      <Field
        label="New address"
        type="email"
        value={email}
        onInput={setEmail}
        autocomplete="email"
        required
      />
      <PasswordField label="Your password" value={password} onInput={setPassword} />
      <div>
        <Button type="submit" busy={isBusy}>
          Change address
        </Button>
      </div>
    </Form>
  )
}

function PasswordForm(): JSX.Element {
  const queries = useQueryClient()
  const [current, setCurrent] = useState('')
  const [next, setNext] = useState('')
  const [isDone, setDone] = useState(false)
  const { isBusy, fault, run } = useSubmission()
  const withStepUp = useStepUp()
  const change = async (): Promise<void> => {
    setDone(false)
    await withStepUp(
      async () => await callApp('changePassword', { current_password: current, password: next }),
    )
    setCurrent('')
    setNext('')
    setDone(true)
    await queries.invalidateQueries({ queryKey: sessionsKey })
  }
  return (
    <Form onSubmit={() => void run(change)}>
      <h3>Change your password</h3>
      <p class="muted small">All your other sessions end.</p>
      {fault !== null && <Notice tone="bad">{fault}</Notice>}
      {isDone && <Said>The password is changed.</Said>}
      <PasswordField label="Present password" value={current} onInput={setCurrent} />
      <NewPasswordField label="New password" value={next} onInput={setNext} />
      <div>
        <Button type="submit" busy={isBusy}>
          Change password
        </Button>
      </div>
    </Form>
  )
}
