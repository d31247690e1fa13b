import { useEffect, useState } from 'preact/hooks'

/**
 * The secret of the link that opened a page, also where the page was open already; null if there is
 * none.
 */
export function useLinkCode(): string | null {
  const [code, setCode] = useState(takeCode)
  useEffect(() => {
    const take = (): void => setCode((before) => takeCode() ?? before)
    addEventListener('hashchange', take)
    return () => removeEventListener('hashchange', take)
  }, [])
  return code
}

/** Other anchors, such as that of the link past the menu, are no secrets. */
const SECRET = /^#([0-9A-Za-z]{40})$/

/**
 * The secret stands behind `#` so that no server's log holds it, and is taken out of the address so
 * that neither history nor a shared screen keeps it.
 */
function takeCode(): string | null {
  const code = SECRET.exec(location.hash)?.[1] ?? null
  if (code !== null) history.replaceState(history.state, '', location.pathname + location.search)
  return code
}
