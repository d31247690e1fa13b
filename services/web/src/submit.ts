import { useRef, useState } from 'preact/hooks'
import { sentenceOf } from './api/http.ts'

/** Work that a person began: whether it is under way, and what went wrong the last time. */
export interface Submission {
  readonly isBusy: boolean
  readonly fault: string | null
  /** Does it, unless it is under way already; returns whether it was done. */
  readonly run: (work: () => Promise<unknown>) => Promise<boolean>
  readonly clear: () => void
}

/** Keeps a press from acting twice, and what was refused for the page to show. */
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
