import packagedList from '../data/rdap-dns.json' with { type: 'json' }

/** A list of RDAP servers in the form of RFC 9224. */
export interface RdapList {
  /** When it was published, ISO 8601; null if it does not say. */
  readonly publication: string | null
  /** Zone to base URL, both as `normalEntry` writes them. */
  readonly zones: ReadonlyMap<string, string>
}

/** Name of the file that an update writes into the folder of lists. */
export const RDAP_LIST_FILE = 'rdap-dns.json'

/** Maximum bytes of a list; IANA's has 70,000. */
export const RDAP_LIST_MAX_BYTES = 4_000_000

/** The packaged copy of IANA's list, with its date. */
export function readPackagedRdapList(): RdapList {
  return { publication: packagedList.publication, zones: zonesOf(packagedList.services) }
}

/** Parses a list (RFC 9224 sections 3 and 4); null if it is malformed or names no zone. */
export function parseRdapList(text: string): RdapList | null {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return null
  }
  if (typeof json !== 'object' || json === null || !('services' in json)) return null
  const zones = zonesOf(json.services)
  const publishedMs = 'publication' in json ? Date.parse(String(json.publication)) : Number.NaN
  const publication = Number.isNaN(publishedMs) ? null : new Date(publishedMs).toISOString()
  return zones.size === 0 ? null : { publication, zones }
}

/** A zone in lower case without outer dots, and its base URL with a trailing slash. */
export function normalEntry([zone, url]: readonly [string, string]): [string, string] {
  return [zone.toLowerCase().replace(/^\.|\.$/g, ''), url.endsWith('/') ? url : `${url}/`]
}

// Pairs of entries and URLs, https before http.
function zonesOf(services: unknown): ReadonlyMap<string, string> {
  const zones = new Map<string, string>()
  for (const service of Array.isArray(services) ? services : []) {
    const [names, urls]: unknown[] = Array.isArray(service) ? service : []
    const texts = textsOf(urls).filter((url) => /^https?:/i.test(url) && URL.canParse(url))
    const url = texts.find((text) => /^https:/i.test(text)) ?? texts[0]
    if (url === undefined) continue
    for (const name of textsOf(names)) zones.set(...normalEntry([name, url]))
  }
  return zones
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((member) => typeof member === 'string') : []
}
