import { useEffect, useState } from 'preact/hooks'

/**
 * The secret of the link that opened a page, also if the page was already open; null if there is
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

/** Other fragments, such as that of the skip link, are not secrets. */
const SECRET = /^#([0-9A-Za-z]{40})$/

/**
 * Removes the secret from the address, so that neither history nor a shared screen shows it. It is
 * in the fragment, so that no server's log holds it.
 */
function takeCode(): string | null {
  const code = SECRET.exec(location.hash)?.[1] ?? null
  if (code !== null) history.replaceState(history.state, '', location.pathname + location.search)
  return code
}
