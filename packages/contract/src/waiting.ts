/** Explanation of a waiting row, by its engine's reason. */
const SENTENCES: Readonly<Record<string, string>> = {
  greylisted: 'the mail server asked to be tried again later (greylisting)',
  rate_limited: 'the mail provider takes no more connections for now',
  blocked: 'the mail provider refuses connections for now',
  probe_limit: 'too many addresses of its domain were asked, and it is held back for now',
  no_room: 'its mail provider or registry has no room for now',
  timeout: 'the server did not answer, and is asked again',
  connect_failed: 'the mail server did not answer, and is asked again',
  dns_failed: 'the name servers of its domain did not answer, and are asked again',
  dns_unavailable: 'domain names cannot be looked up here for now',
  smtp_unavailable: 'the mail server is not reachable, and is asked again',
  server_error: 'the mail server has a fault of its own for now, and is asked again',
  registry_pace: 'the registry is asked no faster than it allows',
  registry_throttled: 'the registry takes no more queries for now',
  hlr_throttled: 'the network lookup takes no more queries for now',
  hlr_in_doubt: 'the network lookup was begun and is not answered yet',
}

/**
 * Why a row waits, as half a sentence.
 *
 * @param reason as an engine gave it; null if the row is being checked
 */
export function whyWaiting(reason: string | null): string {
  if (reason === null) return 'it is being asked, or its turn has not come'
  return SENTENCES[reason] ?? 'what came back first is not sure, and is asked again'
}
