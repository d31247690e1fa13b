import { createContext, type ComponentChildren, type JSX } from 'preact'
import { useCallback, useContext, useRef, useState } from 'preact/hooks'
import { callApp } from './api/app-calls.ts'
import { RefusedCall } from './api/http.ts'
import { Button } from './components/button.tsx'
import { Dialog } from './components/dialog.tsx'
import { CodeField } from './components/entry-fields.tsx'
import { Form } from './components/field.tsx'
import { Notice } from './components/page.tsx'
import { useSubmission } from './submit.ts'

/** Runs a call; if the service requires the second factor first, asks for it and retries. */
export type StepUp = <T>(work: () => Promise<T>) => Promise<T>

const StepUpContext = createContext<StepUp>(async (work) => await work())

/** A call that waits for a code. */
interface Waiting {
  readonly done: () => void
  readonly given: (error: unknown) => void
}

/** Asks for a code of the second factor if a call below requires it. */
export function StepUpProvider({
  children,
}: {
  readonly children: ComponentChildren
}): JSX.Element {
  const [waiting, setWaiting] = useState<Waiting | null>(null)
  // One code is enough for all calls that wait for one.
  const asked = useRef<Promise<void> | null>(null)
  const withStepUp = useCallback<StepUp>(async (work) => {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof RefusedCall && error.needsStepUp)) throw error
      asked.current ??= new Promise<void>((resolve, reject) =>
        setWaiting({ done: resolve, given: () => reject(error) }),
      ).finally(() => {
        asked.current = null
        setWaiting(null)
      })
      await asked.current
      return await work()
    }
  }, [])
  return (
    <StepUpContext.Provider value={withStepUp}>
      {children}
      {waiting !== null && <StepUpDialog waiting={waiting} />}
    </StepUpContext.Provider>
  )
}

/** The function for calls that may require the second factor. */
export function useStepUp(): StepUp {
  return useContext(StepUpContext)
}

function StepUpDialog({ waiting }: { readonly waiting: Waiting }): JSX.Element {
  const [code, setCode] = useState('')
  const { isBusy, fault, run } = useSubmission()
  const prove = async (): Promise<void> => {
    await callApp('stepUp', { code })
    waiting.done()
  }
  return (
    <Dialog title="Is it still you?" onClose={() => waiting.given(null)}>
      {(close) => (
        <Form onSubmit={() => void run(prove)}>
          {fault !== null && <Notice tone="bad">{fault}</Notice>}
          <CodeField value={code} onInput={setCode} />
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
