import { createContext, type ComponentChildren, type JSX } from 'preact'
import { useCallback, useContext, useEffect, useId, useRef, useState } from 'preact/hooks'
import { callApp } from './api/app-calls.ts'
import { RefusedCall, sentenceOf } from './api/http.ts'
import { Button } from './components/button.tsx'
import { Field } from './components/field.tsx'
import { Notice } from './components/page.tsx'

/** Does something, and where the second factor must be proven first, asks for it and does it then. */
export type Proven = <T>(work: () => Promise<T>) => Promise<T>

const Proving = createContext<Proven>(async (work) => await work())

/** What waits for a code. */
interface Waiting {
  readonly proven: () => void
  readonly given: (error: unknown) => void
}

/** Asks for a code of the second factor where a call below needs it. */
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

/** How a component does what may need the second factor. */
export function useProven(): Proven {
  return useContext(Proving)
}

function ProofDialog({ waiting }: { readonly waiting: Waiting }): JSX.Element {
  const id = useId()
  const ref = useRef<HTMLDialogElement>(null)
  const [code, setCode] = useState('')
  const [fault, setFault] = useState<string | null>(null)
  useEffect(() => {
    ref.current?.showModal()
  }, [])
  const prove = async (): Promise<void> => {
    try {
      await callApp('stepUp', { code })
      waiting.proven()
    } catch (error) {
      setFault(sentenceOf(error))
    }
  }
  return (
    <dialog ref={ref} class="dialog" aria-labelledby={id} onClose={() => waiting.given(null)}>
      <form
        class="dialog-body"
        onSubmit={(event) => {
          event.preventDefault()
          void prove()
        }}
      >
        <h2 id={id}>Is it still you?</h2>
        {fault !== null && <Notice tone="bad">{fault}</Notice>}
        <Field
          label="Code"
          value={code}
          onInput={setCode}
          autocomplete="one-time-code"
          inputMode="numeric"
          hint="The 6 digits of your authenticator app, or a recovery code."
          required
        />
        <div class="row end">
          <Button onClick={() => ref.current?.close()}>Not now</Button>
          <Button kind="primary" type="submit">
            Go on
          </Button>
        </div>
      </form>
    </dialog>
  )
}
