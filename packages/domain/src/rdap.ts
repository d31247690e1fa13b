import { fetchBounded } from '@plumbline/net/http'
import type { HttpAnswer } from '@plumbline/net/http'
import { retryAfterMs } from '@plumbline/net/retry-after'
import type { Egress } from '@plumbline/net/egress'
import type { Resolver } from '@plumbline/net/resolver'
import { parseRdap } from './rdap-parse.ts'
import type { RdapRecord } from './rdap-parse.ts'
import type { RdapBase } from './rdap-bootstrap.ts'
import { RESERVED } from './whois-answers.ts'

/** Reply of one RDAP server about one name. */
export type RdapAnswer =
  | { readonly kind: 'found'; readonly record: RdapRecord; readonly server: string }
  /** An authoritative server denies that the name exists. */
  | { readonly kind: 'absent'; readonly server: string }
  /**
   * The server limits our queries; if not `isSure`, the reason for the refusal may also be this
   * name.
   */
  | {
      readonly kind: 'throttled'
      readonly server: string
      readonly retryMs: number | null
      readonly isSure: boolean
    }
  /**
   * The reply says nothing about the name: another server may be queried. `fault` is for evidence.
   */
  | {
      readonly kind: 'failed'
      readonly server: string
      readonly fault: string
      readonly busy: boolean
    }

/** Network access to RDAP servers. */
export interface RdapNet {
  readonly egress: Egress
  readonly resolver: Resolver
  readonly timeoutMs: number
}

/** Limits of one query. A reply has a few kilobytes; redirects lead from a list to its registry. */
const MAX_BYTES = 512_000
const MAX_REDIRECTS = 5
/** A server that asks for a longer delay than this counts as down, in milliseconds. */
const MAX_RETRY_MS = 3_600_000

/**
 * Queries one server about one name (RFC 9082 section 3.1.3). A 404 counts as a denial only from
 * the server that the zone is listed with, and as RDAP: error pages of proxies are 404 too. Never
 * throws.
 */
export async function askRdap(
  base: RdapBase,
  name: string,
  net: RdapNet,
  signal: AbortSignal,
): Promise<RdapAnswer> {
  const answer = await fetchBounded({
    url: `${base.url}domain/${name}`,
    headers: { accept: 'application/rdap+json, application/json;q=0.9' },
    maxBytes: MAX_BYTES,
    maxRedirects: MAX_REDIRECTS,
    timeoutMs: net.timeoutMs,
    signal,
    egress: net.egress,
    resolver: net.resolver,
  })
  const server = new URL(base.url).hostname
  if (answer.kind === 'failed') {
    const busy = answer.reason === 'network' || answer.reason === 'timeout'
    return { kind: 'failed', server, fault: `http ${answer.reason}`, busy }
  }
  return judge(answer, name, server)
}

function judge(
  answer: Extract<HttpAnswer, { kind: 'response' }>,
  name: string,
  server: string,
): RdapAnswer {
  const { status } = answer
  if (status === 429 || (status === 503 && answer.headers['retry-after'] !== undefined)) {
    return { kind: 'throttled', server, retryMs: delayOf(answer), isSure: true }
  }
  if (status === 403 || status === 451)
    return { kind: 'throttled', server, retryMs: null, isSure: false }
  const body = parseBody(answer.body)
  if (status === 404) {
    const own = new URL(answer.url).hostname === server
    if (own && (isRdapError(body) || isBareDenial(answer))) return { kind: 'absent', server }
    return { kind: 'failed', server, fault: 'a 404 without authority', busy: false }
  }
  if (status !== 200)
    return { kind: 'failed', server, fault: `status ${status}`, busy: status >= 500 }
  if (body === undefined) return { kind: 'failed', server, fault: 'not JSON', busy: false }
  const record = parseRdap(body)
  if (record.name === null)
    return { kind: 'failed', server, fault: 'no domain object', busy: false }
  // A server that answers about another name answers nothing about this one.
  if (record.name !== name && !isUnicode(record.name)) {
    return { kind: 'failed', server, fault: 'an object of another name', busy: false }
  }
  if (isOnlyReserved(record))
    return { kind: 'failed', server, fault: 'a reserved name', busy: false }
  return { kind: 'found', record, server }
}

// Nobody holds a name of which there is nothing but that it is reserved.
function isOnlyReserved({
  statuses,
  registrar,
  created,
  expires,
  nameservers,
}: RdapRecord): boolean {
  const isHeld =
    registrar !== null || created !== null || expires !== null || nameservers.length > 0
  return !isHeld && statuses.length > 0 && statuses.every((status) => RESERVED.test(status))
}

function parseBody(body: Uint8Array): unknown {
  try {
    // Without the byte order mark that servers on Windows put before it.
    return JSON.parse(new TextDecoder().decode(body))
  } catch {
    return undefined
  }
}

// A body is optional (RFC 7480 section 5.3); without one the content type tells an RDAP server from
// a proxy.
function isBareDenial({ body, headers }: Extract<HttpAnswer, { kind: 'response' }>): boolean {
  return body.length === 0 && /^application\/rdap\+json\b/i.test(headers['content-type'] ?? '')
}

// RFC 9083 section 6 asks for an error code; registries also send an empty object.
function isRdapError(body: unknown): boolean {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return false
  if (!('errorCode' in body)) return Object.keys(body).length === 0 || 'rdapConformance' in body
  return Number(body.errorCode) === 404
}

function isUnicode(name: string): boolean {
  return /[^\x20-\x7e]/.test(name)
}

/**
 * The delay of a `Retry-After` header in milliseconds; null if it has none that is usable. Its date is
 * by the server's clock, which its `Date` header tells. A delay that is over already says nothing of
 * the limit that was exceeded just now.
 */
function delayOf({ headers }: Extract<HttpAnswer, { kind: 'response' }>): number | null {
  const serverMs = Date.parse(headers['date'] ?? '')
  const ms = retryAfterMs(headers['retry-after'], Number.isNaN(serverMs) ? Date.now() : serverMs)
  return ms === null || ms === 0 ? null : Math.min(MAX_RETRY_MS, ms)
}
