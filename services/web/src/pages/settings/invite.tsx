import type { InvitationResponse } from '@plumbline/contract/app/members'
import type { Role } from '@plumbline/contract/app/roles'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { callApp } from '../../api/app-calls.ts'
import { useAnnounce } from '../../components/announcer.tsx'
import { Button } from '../../components/button.tsx'
import { CopyButton } from '../../components/copy.tsx'
import { Field, Form, SelectField } from '../../components/field.tsx'
import { Notice } from '../../components/page.tsx'
import { Foreign } from '../../components/text.tsx'
import { useStepUp } from '../../step-up.tsx'
import { useSubmission } from '../../submit.ts'
import { ROLE_CHOICES, roleOf } from './role-choices.ts'

/** Invites a member by address; if no mail is sent, shows a link to pass on. */
export function Invite({
  made,
  onMade,
  onDone,
}: {
  readonly made: InvitationResponse | null
  readonly onMade: (made: InvitationResponse) => void
  readonly onDone: () => void
}): JSX.Element {
  const announce = useAnnounce()
  const withStepUp = useStepUp()
  const [email, setEmail] = useState('')
  const [role, setRole] = useState<Role>('member')
  const { isBusy, fault, run } = useSubmission()
  const invite = async (): Promise<void> => {
    const made = await withStepUp(async () => await callApp('invite', { email, role }))
    onMade(made)
    announce(
      made.link === null
        ? 'A message with a link is on its way.'
        : 'This installation sends no mail: hand on the link that is shown.',
    )
    setEmail('')
    onDone()
  }
  return (
    <Form onSubmit={() => void run(invite)}>
      <h3>Invite a member</h3>
      {fault !== null && <Notice tone="bad">{fault}</Notice>}
      {made !== null && <Made made={made} />}
      <div class="row bottom">
        <div class="grow">
          <Field label="Email" type="email" value={email} onInput={setEmail} required />
        </div>
        <SelectField
          label="As"
          value={role}
          choices={ROLE_CHOICES}
          onChange={(value) => setRole(roleOf(value))}
        />
        <Button type="submit" busy={isBusy}>
          Invite
        </Button>
      </div>
    </Form>
  )
}

function Made({ made: { email, link } }: { readonly made: InvitationResponse }): JSX.Element {
  if (link === null) {
    return (
      <Notice tone="good">
        A message with a link is on its way to <Foreign text={email} />.
      </Notice>
    )
  }
  return (
    <div class="stack tight">
      <Notice tone="good">
        This installation sends no mail: hand this link to <Foreign text={email} />. It is shown
        this once.
      </Notice>
      <pre class="code fold">{link}</pre>
      <CopyButton text={link} name="Copy the link" />
    </div>
  )
}
