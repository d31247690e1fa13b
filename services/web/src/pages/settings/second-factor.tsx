import type { SecondFactorStart } from '@plumbline/contract/app/entry'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { callApp } from '../../api/app-calls.ts'
import { Button } from '../../components/button.tsx'
import { CodeField, PasswordField } from '../../components/entry-fields.tsx'
import { Form } from '../../components/field.tsx'
import { Card, Notice } from '../../components/page.tsx'
import { QrCode } from '../../components/qr-code.tsx'
import { useSession, useSessionActions } from '../../session.tsx'
import { useSubmission } from '../../submit.ts'

/**
 * Sets up or disables the second factor: codes of an authenticator app, in addition to the
 * password.
 */
export function SecondFactor(): JSX.Element {
  const { user } = useSession()
  const [start, setStart] = useState<SecondFactorStart | null>(null)
  const [codes, setCodes] = useState<readonly string[] | null>(null)
  return (
    <Card title="Second factor">
      {codes !== null && <RecoveryCodes codes={codes} onDone={() => setCodes(null)} />}
      {codes === null && user?.second_factor === true && <SwitchOff />}
      {codes === null && user?.second_factor === false && start === null && (
        <Begin onStart={setStart} />
      )}
      {start !== null && (
        <Confirmed
          start={start}
          onCodes={(made) => {
            setStart(null)
            setCodes(made)
          }}
        />
      )}
    </Card>
  )
}

function Begin({ onStart }: { readonly onStart: (start: SecondFactorStart) => void }): JSX.Element {
  const [password, setPassword] = useState('')
  const { isBusy, fault, run } = useSubmission()
  const begin = async (): Promise<void> => onStart(await callApp('beginSecondFactor', { password }))
  return (
    <Form onSubmit={() => void run(begin)}>
      <p class="muted">
        With a second factor, who knows your password still cannot sign in without your phone.
      </p>
      {fault !== null && <Notice tone="bad">{fault}</Notice>}
      <PasswordField label="Password to begin" value={password} onInput={setPassword} />
      <div>
        <Button type="submit" busy={isBusy}>
          Set up a second factor
        </Button>
      </div>
    </Form>
  )
}

function Confirmed({
  start,
  onCodes,
}: {
  readonly start: SecondFactorStart
  readonly onCodes: (codes: readonly string[]) => void
}): JSX.Element {
  const [code, setCode] = useState('')
  const { refresh } = useSessionActions()
  const { isBusy, fault, run } = useSubmission()
  const confirm = async (): Promise<void> => {
    const { recovery_codes: codes } = await callApp('confirmSecondFactor', { code })
    onCodes(codes)
    await refresh()
  }
  return (
    <Form onSubmit={() => void run(confirm)}>
      <p>
        Scan this with your authenticator app, or <a href={start.uri}>open it there</a> on this
        device. Then enter the code that the app shows.
      </p>
      <div class="row">
        <QrCode text={start.uri} label="QR code of the secret, which also stands beside it" />
        <div class="grow stack tight">
          <p class="muted">Without a camera, type this secret in:</p>
          <pre class="code fold">{start.secret}</pre>
        </div>
      </div>
      {fault !== null && <Notice tone="bad">{fault}</Notice>}
      <CodeField value={code} onInput={setCode} digitsOnly />
      <div>
        <Button kind="primary" type="submit" busy={isBusy}>
          Switch it on
        </Button>
      </div>
    </Form>
  )
}

function RecoveryCodes({
  codes,
  onDone,
}: {
  readonly codes: readonly string[]
  readonly onDone: () => void
}): JSX.Element {
  return (
    <div class="stack">
      <Notice tone="warn">
        Keep these codes where your phone is not. Each works once in place of a code; they are not
        shown again.
      </Notice>
      <pre class="code fold">{codes.join('\n')}</pre>
      <div>
        <Button onClick={onDone}>I have kept them</Button>
      </div>
    </div>
  )
}

function SwitchOff(): JSX.Element {
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  const { refresh } = useSessionActions()
  const { isBusy, fault, run } = useSubmission()
  const disable = async (): Promise<void> => {
    await callApp('disableSecondFactor', { password, code })
    await refresh()
  }
  return (
    <Form onSubmit={() => void run(disable)}>
      <Notice tone="good">It is on.</Notice>
      {fault !== null && <Notice tone="bad">{fault}</Notice>}
      <div class="columns">
        <PasswordField label="Password to switch it off" value={password} onInput={setPassword} />
        <CodeField value={code} onInput={setCode} />
      </div>
      <div>
        <Button kind="danger" type="submit" busy={isBusy}>
          Switch it off
        </Button>
      </div>
    </Form>
  )
}
