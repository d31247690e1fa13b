import { useRef, useState } from 'preact/hooks'
import { sentenceOf } from './api/http.ts'

/** An action of the user: whether it is running, and its last error. */
export interface Submission {
  readonly isBusy: boolean
  readonly fault: string | null
  /** Runs the action, unless it is running already; returns whether it succeeded. */
  readonly run: (work: () => Promise<unknown>) => Promise<boolean>
  readonly clear: () => void
}

/** Prevents double submission, and keeps the error for display. */
export function useSubmission(): Submission {
  const [isBusy, setBusy] = useState(false)
  const [fault, setFault] = useState<string | null>(null)
  const isRunning = useRef(false)
  return {
    isBusy,
    fault,
    clear: () => setFault(null),
    run: async (work) => {
      if (isRunning.current) return false
      isRunning.current = true
      setBusy(true)
      setFault(null)
      try {
        await work()
        return true
      } catch (error) {
        setFault(sentenceOf(error))
        return false
      } finally {
        isRunning.current = false
        setBusy(false)
      }
    },
  }
}
