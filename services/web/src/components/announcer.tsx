import { createContext, type ComponentChildren, type JSX } from 'preact'
import { useCallback, useContext, useRef, useState } from 'preact/hooks'

/**
 * The least time between two announcements, in ms: progress read aloud more often drowns the page.
 */
const EVERY_MS = 5_000

/**
 * Says a sentence to those who do not see the page; `isProgress` may be left out when it comes too
 * soon.
 */
export type Announce = (sentence: string, isProgress?: boolean) => void

const Announcing = createContext<Announce>(() => undefined)

/** Holds the one polite live region of the page. */
export function Announcer({ children }: { readonly children: ComponentChildren }): JSX.Element {
  const [sentence, setSentence] = useState('')
  const saidAt = useRef(-EVERY_MS)
  const announce = useCallback<Announce>((said, isProgress = false) => {
    const now = performance.now()
    if (isProgress && now - saidAt.current < EVERY_MS) return
    saidAt.current = now
    setSentence(said)
  }, [])
  return (
    <Announcing.Provider value={announce}>
      {children}
      <div class="unseen" aria-live="polite">
        {sentence}
      </div>
    </Announcing.Provider>
  )
}

/** How a component says something aloud. */
export function useAnnounce(): Announce {
  return useContext(Announcing)
}
