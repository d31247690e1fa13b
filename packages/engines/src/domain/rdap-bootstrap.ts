import { fetchBounded } from '../net/http.ts'
import type { Egress } from '../net/egress.ts'
import type { Resolver } from '../net/resolver.ts'
import packagedOverrides from './rdap-overrides.json' with { type: 'json' }
import packagedServers from './rdap-servers.json' with { type: 'json' }

/** A server that says of itself that it knows a zone, with a last slash. */
export interface RdapBase {
  readonly suffix: string
  readonly url: string
  /** Who says so: IANA's list, a list set by hand, or the copy that came with this package. */
  readonly from: 'iana' | 'setting' | 'packaged'
}

/** Where RDAP servers are listed. */
export interface RdapBootstrap {
  /** The server of the longest zone that holds the name; null where none is known. */
  baseOf(name: string, signal: AbortSignal): Promise<RdapBase | null>
  /** When IANA's list was last read; null while the packaged copy serves. */
  readonly refreshedAt: Date | null
}

export interface RdapBootstrapOptions {
  readonly url: string
  /** Zone to base URL; they go before IANA's list. */
  readonly overrides?: Readonly<Record<string, string>>
  readonly egress: Egress
  readonly resolver: Resolver
  readonly clock: () => Date
}

/** RFC 9224 section 8 lets a client keep the file by its Expires; IANA changes it daily. */
const FRESH_MS = 24 * 3_600_000
/** After a failure, and never more often than this. */
const RETRY_MS = 15 * 60_000
const FETCH_TIMEOUT_MS = 10_000
const MAX_BYTES = 4_000_000

/**
 * Makes the list. It is read from its URL on the first question and once a day; until that works, and
 * for zones that IANA's list lacks, the packaged copy and its additions serve.
 */
export function createRdapBootstrap(options: RdapBootstrapOptions): RdapBootstrap {
  const settings = new Map(Object.entries(options.overrides ?? {}).map(normalEntry))
  const additions = new Map(
    packagedOverrides.map(({ suffix, base }) => normalEntry([suffix, base])),
  )
  const packaged = packagedList()
  let iana: ReadonlyMap<string, string> | null = null
  let refreshedAt: Date | null = null
  let nextAt = 0
  let reading: Promise<void> | null = null

  async function read(): Promise<void> {
    const answer = await fetchBounded({
      url: options.url,
      headers: { accept: 'application/json' },
      maxBytes: MAX_BYTES,
      maxRedirects: 3,
      timeoutMs: FETCH_TIMEOUT_MS,
      signal: new AbortController().signal,
      egress: options.egress,
      resolver: options.resolver,
    })
    const list = answer.kind === 'response' && answer.status === 200 ? parseList(answer.body) : null
    nextAt = options.clock().getTime() + (list === null ? RETRY_MS : FRESH_MS)
    if (list === null) return
    iana = list
    refreshedAt = options.clock()
  }

  async function refresh(signal: AbortSignal): Promise<void> {
    if (options.clock().getTime() < nextAt) return
    reading ??= read().finally(() => (reading = null))
    // A stale list is better than a wait, none is not: then the first asker waits.
    if (iana === null) await Promise.race([reading, aborted(signal)])
  }

  return {
    get refreshedAt() {
      return refreshedAt
    },
    async baseOf(name, signal) {
      await refresh(signal)
      return (
        longest(settings, name, 'setting') ??
        longest(iana ?? packaged, name, iana === null ? 'packaged' : 'iana') ??
        longest(additions, name, 'packaged')
      )
    },
  }
}

function longest(
  list: ReadonlyMap<string, string>,
  name: string,
  from: RdapBase['from'],
): RdapBase | null {
  for (let suffix = name; ;) {
    const url = list.get(suffix)
    if (url !== undefined) return { suffix, url, from }
    const dot = suffix.indexOf('.')
    if (dot === -1) return null
    suffix = suffix.slice(dot + 1)
  }
}

// RFC 9224 section 4: pairs of entries and URLs, https before http.
function parseList(body: Uint8Array): ReadonlyMap<string, string> | null {
  let json: unknown
  try {
    json = JSON.parse(Buffer.from(body).toString('utf8'))
  } catch {
    return null
  }
  const services =
    typeof json === 'object' && json !== null && 'services' in json ? json.services : null
  if (!Array.isArray(services)) return null
  const list = new Map<string, string>()
  for (const service of services) {
    if (!Array.isArray(service)) continue
    const [suffixes, urls]: unknown[] = service
    const texts = textsOf(urls).filter((url) => /^https?:\/\//i.test(url))
    const url = texts.find((text) => /^https:/i.test(text)) ?? texts[0]
    if (url === undefined) continue
    for (const suffix of textsOf(suffixes)) list.set(...normalEntry([suffix, url]))
  }
  return list.size === 0 ? null : list
}

function packagedList(): ReadonlyMap<string, string> {
  const list = new Map<string, string>()
  for (const [template, suffixes] of Object.entries(packagedServers.services)) {
    for (const suffix of suffixes.split(' ')) {
      list.set(suffix, template.replaceAll('{tld}', suffix))
    }
  }
  return list
}

function normalEntry([suffix, url]: [string, string]): [string, string] {
  return [suffix.toLowerCase().replace(/^\.|\.$/g, ''), url.endsWith('/') ? url : `${url}/`]
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((member) => typeof member === 'string') : []
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
