import { createContext, type ComponentChildren, type JSX } from 'preact'
import { useCallback, useContext, useState } from 'preact/hooks'
import { callApp } from './api/app-calls.ts'
import { RefusedCall } from './api/http.ts'
import { Button } from './components/button.tsx'
import { Dialog } from './components/dialog.tsx'
import { CODE_HINT, CodeField } from './components/entry-fields.tsx'
import { Form } from './components/field.tsx'
import { Notice } from './components/page.tsx'
import { useSubmission } from './submit.ts'

/** Does something; if the second factor is required first, asks for it and retries. */
export type Proven = <T>(work: () => Promise<T>) => Promise<T>

const Proving = createContext<Proven>(async (work) => await work())

/** A call that waits for a code. */
interface Waiting {
  readonly proven: () => void
  readonly given: (error: unknown) => void
}

/** Asks for a code of the second factor if a call below requires it. */
export function ProofGate({ children }: { readonly children: ComponentChildren }): JSX.Element {
  const [waiting, setWaiting] = useState<Waiting | null>(null)
  const proven = useCallback<Proven>(async (work) => {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof RefusedCall && error.needsProof)) throw error
      await new Promise<void>((resolve, reject) =>
        setWaiting({ proven: resolve, given: () => reject(error) }),
      ).finally(() => setWaiting(null))
      return await work()
    }
  }, [])
  return (
    <Proving.Provider value={proven}>
      {children}
      {waiting !== null && <ProofDialog waiting={waiting} />}
    </Proving.Provider>
  )
}

/** The function for calls that may require the second factor. */
export function useProven(): Proven {
  return useContext(Proving)
}

function ProofDialog({ waiting }: { readonly waiting: Waiting }): JSX.Element {
  const [code, setCode] = useState('')
  const { isBusy, fault, run } = useSubmission()
  const prove = async (): Promise<void> => {
    await callApp('stepUp', { code })
    waiting.proven()
  }
  return (
    <Dialog title="Is it still you?" onClose={() => waiting.given(null)}>
      {(close) => (
        <Form onSubmit={() => void run(prove)}>
          {fault !== null && <Notice tone="bad">{fault}</Notice>}
          <CodeField value={code} onInput={setCode} hint={CODE_HINT} />
          <div class="row end">
            <Button onClick={close}>Not now</Button>
            <Button kind="primary" type="submit" busy={isBusy}>
              Go on
            </Button>
          </div>
        </Form>
      )}
    </Dialog>
  )
}
