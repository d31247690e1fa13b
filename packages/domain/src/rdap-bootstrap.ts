import { readFile, stat } from 'node:fs/promises'
import { pauseLeftMs } from '@plumbline/concurrency/pause'
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

/** Base URL of an RDAP server, with a trailing slash, and the zone that it is listed for. */
export interface RdapBase {
  readonly suffix: string
  readonly url: string
}

/** The list of RDAP servers. */
export interface RdapBootstrap {
  /** The server of the longest zone that contains the name; null if none is known. */
  baseOf(name: string, signal: AbortSignal): Promise<RdapBase | null>
  /** The list in use. */
  readonly current: { readonly from: ListOrigin; readonly publication: string | null }
}

/** Origin of a list: its URL, the file of an update, or this package. */
export type ListOrigin = 'url' | 'file' | 'package'

/** Sources of the list of RDAP servers. */
export interface RdapBootstrapOptions {
  readonly url: string
  /**
   * File of the list, as `data update` writes it; checked regularly, and reloaded when it changes.
   */
  readonly file?: string | null
  /** Zone to base URL; overrides every list. */
  readonly overrides?: Readonly<Record<string, string>> | undefined
  readonly egress: Egress
  readonly resolver: Resolver
  readonly clock: () => Date
}

/** RFC 9224 section 8 lets a client cache the file until it expires; IANA changes it daily. */
const FRESH_MS = 24 * 3_600_000
/** Minimum milliseconds between two downloads, used after a failure. */
const RETRY_MS = 15 * 60_000
const FETCH_TIMEOUT_MS = 10_000
/** Milliseconds that the first caller waits for a list newer than the packaged one. */
const FIRST_WAIT_MS = 3_000
/** Milliseconds between two checks of the file. */
const POLL_MS = 10_000

/**
 * Loads the list from its URL at the first query and once a day, and from its file whenever that
 * changes; the most recently published one is used, and the packaged copy until there is one. Zones
 * that IANA does not list come from additions in this package.
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
      await filed.check()
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
  /** Loads it if it is due; `waits`: there is no list yet, so the caller waits for it. */
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
      if (pauseLeftMs(nextAt, clock().getTime(), FRESH_MS) === 0)
        reading ??= read().finally(() => (reading = null))
      if (reading === null || list !== null || !waits) return
      const limit = AbortSignal.any([signal, AbortSignal.timeout(FIRST_WAIT_MS)])
      await orOnAbort(reading, limit, undefined)
    },
  }
}

interface FollowedFile {
  readonly list: RdapList | null
  check(): Promise<void>
}

function followFile({ file, clock }: RdapBootstrapOptions): FollowedFile {
  let list: RdapList | null = null
  let stamp = ''
  let nextAt = 0
  let looking: Promise<void> | null = null
  async function read(path: string): Promise<void> {
    nextAt = clock().getTime() + POLL_MS
    const about = await stat(path).catch(() => null)
    const seen = about === null ? '' : `${about.mtimeMs} ${about.size} ${about.ino}`
    if (seen === stamp) return
    stamp = seen
    if (about === null || about.size > RDAP_LIST_MAX_BYTES) return
    // If the file is no list, the previous one stays.
    list = parseRdapList(await readFile(path, 'utf8').catch(() => '')) ?? list
  }
  return {
    get list() {
      return list
    },
    async check() {
      if (file === undefined || file === null) return
      if (pauseLeftMs(nextAt, clock().getTime(), POLL_MS) === 0)
        looking ??= read(file).finally(() => (looking = null))
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
