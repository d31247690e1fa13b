import { useLocation } from 'preact-iso'
import { useEffect, useRef } from 'preact/hooks'

/**
 * Moves the focus to each new page, so that neither keyboard nor screen reader begins at the menu
 * again, and shows it from its top; going back, the browser shows it where it was. Its frame is a
 * new one, which cannot know that another page was there before: used once, above the pages.
 */
export function usePageFocus(): void {
  const { path, url } = useLocation()
  const shown = useRef(path)
  const wentTo = useRef<string | null>(null)
  useEffect(() => {
    const note = (): void => {
      wentTo.current = location.pathname + location.search
    }
    addEventListener('popstate', note)
    return () => removeEventListener('popstate', note)
  }, [])
  useEffect(() => {
    const isBack = wentTo.current === url
    wentTo.current = null
    if (shown.current === path) return
    shown.current = path
    document.querySelector('main')?.focus({ preventScroll: true })
    if (!isBack) scrollTo(0, 0)
  }, [url])
}
