/**
 * The secret of a link, which stands behind `#` so that no server's log holds it; null where there is none. It
 * is taken out of the address, so that neither history nor a shared screen keeps it.
 */
export function codeOfLink(): string | null {
  const code = /^#([0-9A-Za-z]{1,100})$/.exec(location.hash)?.[1] ?? null
  if (code !== null) history.replaceState(history.state, '', location.pathname + location.search)
  return code
}
