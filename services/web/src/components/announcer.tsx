import { createContext, type ComponentChildren, type JSX } from 'preact'
import { useCallback, useContext, useRef, useState } from 'preact/hooks'

/**
 * Minimum milliseconds between two announcements: more frequent progress would make the page
 * unusable with a screen reader.
 */
const EVERY_MS = 5_000

/**
 * Announces a sentence to screen readers; `isProgress` ones may be skipped if they come too soon.
 */
export type Announce = (sentence: string, isProgress?: boolean) => void

const Announcing = createContext<Announce>(() => undefined)

/** Provides the page's polite live region. */
export function Announcer({ children }: { readonly children: ComponentChildren }): JSX.Element {
  const [sentence, setSentence] = useState('')
  const saidAt = useRef(-EVERY_MS)
  const announce = useCallback<Announce>((said, isProgress = false) => {
    const now = performance.now()
    if (isProgress && now - saidAt.current < EVERY_MS) return
    saidAt.current = now
    // The same again is only heard if it differs.
    setSentence((before) => (before === said ? `${said}\u00A0` : said))
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

/** The function that announces a sentence. */
export function useAnnounce(): Announce {
  return useContext(Announcing)
}
