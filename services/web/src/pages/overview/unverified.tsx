import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { callApp } from '../../api/app-calls.ts'
import { Button } from '../../components/button.tsx'
import { Notice, Said } from '../../components/page.tsx'
import { Foreign } from '../../components/text.tsx'
import { useSession } from '../../session.tsx'
import { useSubmission } from '../../submit.ts'

/** Offers a user whose address is not verified a link for it, where mail is sent. */
export function Unverified(): JSX.Element | null {
  const { user, service } = useSession()
  const [isSent, setSent] = useState(false)
  const { isBusy, fault, run } = useSubmission()
  if (!service.has_mail || user === null || user.verified) return null
  const { email } = user
  const send = async (): Promise<void> => {
    await callApp('resendVerification', { email })
    setSent(true)
  }
  if (isSent) return <Said>A message is on its way. Open its link to verify the address.</Said>
  return (
    <>
      {fault !== null && <Notice tone="bad">{fault}</Notice>}
      <Notice
        tone="warn"
        actions={
          <Button busy={isBusy} onClick={() => void run(send)}>
            Send a link
          </Button>
        }
      >
        <Foreign text={email} /> is not verified yet: open the link of the message that was sent to
        it, or have one sent now.
      </Notice>
    </>
  )
}
