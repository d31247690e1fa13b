import { readFile, stat } from 'node:fs/promises'
import { orOnAbort } from '@plumbline/concurrency/time-out'
import { fetchBounded } from '@plumbline/net/http'
import type { Egress } from '@plumbline/net/egress'
import type { Resolver } from '@plumbline/net/resolver'
import {
  RDAP_LIST_MAX_BYTES,
  normalEntry,
  parseRdapList,
  readPackagedRdapList,
} from '@plumbline/datasets/rdap-list'
import type { RdapList } from '@plumbline/datasets/rdap-list'
import packagedOverrides from './rdap-overrides.json' with { type: 'json' }

/** A server that says of itself that it knows a zone, with a last slash. */
export interface RdapBase {
  readonly suffix: string
  readonly url: string
}

/** Where RDAP servers are listed. */
export interface RdapBootstrap {
  /** The server of the longest zone that holds the name; null if none is known. */
  baseOf(name: string, signal: AbortSignal): Promise<RdapBase | null>
  /** The list that serves now. */
  readonly current: { readonly from: ListOrigin; readonly publication: string | null }
}

/** Where a list came from: its URL, the file of an update, or this package. */
export type ListOrigin = 'url' | 'file' | 'package'

/** Where the list of RDAP servers comes from. */
export interface RdapBootstrapOptions {
  readonly url: string
  /** Where an update puts the list; looked at again and again, and read when it has changed. */
  readonly file?: string | null
  /** Zone to base URL; they go before every list. */
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
/** How long the first asker waits for a list that is newer than the packaged one. */
const FIRST_WAIT_MS = 3_000
/** How often the file is looked at. */
const LOOK_MS = 10_000

/**
 * Makes the list. It is read from its URL on the first question and once a day, and from its file
 * whenever that changes; the one published last serves, and until there is one the packaged copy.
 * Zones that IANA does not list have the additions that came with this package.
 */
export function createRdapBootstrap(options: RdapBootstrapOptions): RdapBootstrap {
  const overrides = new Map(Object.entries(options.overrides ?? {}).map(normalEntry))
  const additions = new Map(
    packagedOverrides.map(({ suffix, base }) => normalEntry([suffix, base])),
  )
  const packaged = readPackagedRdapList()
  const fetched = followUrl(options)
  const filed = followFile(options)

  function current(): { readonly from: ListOrigin; readonly list: RdapList } {
    const { list: live } = fetched
    const { list: file } = filed
    if (live !== null && (file === null || !isLater(file, live))) return { from: 'url', list: live }
    if (file !== null && !isLater(packaged, file)) return { from: 'file', list: file }
    return { from: 'package', list: packaged }
  }

  return {
    get current() {
      const { from, list } = current()
      return { from, publication: list.publication }
    },
    async baseOf(name, signal) {
      await filed.look()
      await fetched.refresh(signal, filed.list === null)
      return (
        longest(overrides, name) ?? longest(current().list.zones, name) ?? longest(additions, name)
      )
    },
  }
}

function isLater(one: RdapList, other: RdapList): boolean {
  return (one.publication ?? '') > (other.publication ?? '')
}

interface FollowedUrl {
  readonly list: RdapList | null
  /** Reads it when it is due; `waits`: there is nothing yet to go by, so the asker waits for it. */
  refresh(signal: AbortSignal, waits: boolean): Promise<void>
}

function followUrl({ url, egress, resolver, clock }: RdapBootstrapOptions): FollowedUrl {
  let list: RdapList | null = null
  let nextAt = 0
  let reading: Promise<void> | null = null
  async function read(): Promise<void> {
    const answer = await fetchBounded({
      url,
      headers: { accept: 'application/json' },
      maxBytes: RDAP_LIST_MAX_BYTES,
      maxRedirects: 3,
      timeoutMs: FETCH_TIMEOUT_MS,
      signal: new AbortController().signal,
      egress,
      resolver,
    })
    const whole = answer.kind === 'response' && answer.status === 200
    const got = whole ? parseRdapList(Buffer.from(answer.body).toString('utf8')) : null
    nextAt = clock().getTime() + (got === null ? RETRY_MS : FRESH_MS)
    list = got ?? list
  }
  return {
    get list() {
      return list
    },
    async refresh(signal, waits) {
      if (clock().getTime() >= nextAt) reading ??= read().finally(() => (reading = null))
      if (reading === null || list !== null || !waits) return
      const limit = AbortSignal.any([signal, AbortSignal.timeout(FIRST_WAIT_MS)])
      await orOnAbort(reading, limit, undefined)
    },
  }
}

interface FollowedFile {
  readonly list: RdapList | null
  look(): Promise<void>
}

function followFile({ file, clock }: RdapBootstrapOptions): FollowedFile {
  let list: RdapList | null = null
  let stamp = ''
  let nextAt = 0
  let looking: Promise<void> | null = null
  async function read(path: string): Promise<void> {
    nextAt = clock().getTime() + LOOK_MS
    const about = await stat(path).catch(() => null)
    const seen = about === null ? '' : `${about.mtimeMs} ${about.size} ${about.ino}`
    if (seen === stamp) return
    stamp = seen
    if (about === null || about.size > RDAP_LIST_MAX_BYTES) return
    // A file that is no list leaves the one before.
    list = parseRdapList(await readFile(path, 'utf8').catch(() => '')) ?? list
  }
  return {
    get list() {
      return list
    },
    async look() {
      if (file === undefined || file === null) return
      if (clock().getTime() >= nextAt) looking ??= read(file).finally(() => (looking = null))
      await looking
    },
  }
}

function longest(zones: ReadonlyMap<string, string>, name: string): RdapBase | null {
  for (let suffix = name; ;) {
    const url = zones.get(suffix)
    if (url !== undefined) return { suffix, url }
    const dot = suffix.indexOf('.')
    if (dot === -1) return null
    suffix = suffix.slice(dot + 1)
  }
}
