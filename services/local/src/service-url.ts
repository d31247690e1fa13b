import { isLoopbackName } from '@plumbline/runtime/host-header'

/** Addresses that mean all of the machine's, each with its loopback address. */
const LOOPBACK_OF_ALL: ReadonlyMap<string, string> = new Map([
  ['0.0.0.0', '127.0.0.1'],
  ['::', '::1'],
])

/** Where this machine reaches an API that listens on the address. */
export function serviceUrl(host: string, port: string): string {
  const reached = LOOPBACK_OF_ALL.get(host) ?? host
  return `http://${reached.includes(':') ? `[${reached}]` : reached}:${port}`
}

/**
 * The link that opens the first account, which works on loopback only; undefined if the API does not
 * listen there.
 */
export function welcomeUrl(url: string, code: string): string | undefined {
  if (!isLoopbackName(new URL(url).hostname)) return undefined
  return `${url}/app/welcome#${code}`
}
