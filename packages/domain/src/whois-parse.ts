import { shortText } from '@plumbline/net/short-text'
import { DENIALS, FREE_STATUS, OF_ANOTHER, PAGE, RESERVED } from './whois-answers.ts'
import { isRefusing, refusalOf, withoutName } from './whois-refusal.ts'
import { dateOrderOf, DATE_SENTENCES, DATE_WORDS, FIELDS } from './whois-rules.ts'
import type { FieldRule } from './whois-rules.ts'
import { instantOf, parseWhoisDate } from './whois-date.ts'
import type { DateOrder, WhoisDate } from './whois-date.ts'
import { readWhoisText } from './whois-text.ts'
import type { WhoisEntry, WhoisText } from './whois-text.ts'

/** Context of a reply. */
export interface WhoisHints {
  readonly tld?: string | null
  readonly domain?: string | null
}

/** Content of a reply; null for missing parts. Days are those of the registry's own clock. */
export interface WhoisRecord {
  /**
   * Null if the reply says nothing about a registration: refused, throttled, cut, not understood, or
   * of a name that nobody may register.
   */
  readonly registered: boolean | null
  /** At most 200 characters. */
  readonly registrar: string | null
  /** `YYYY-MM-DD`. */
  readonly created: string | null
  /** `YYYY-MM-DD`. */
  readonly expires: string | null
  /** Instant of the registration, ISO 8601, UTC; midnight if only a day is given. */
  readonly createdAt: string | null
  readonly expiresAt: string | null
  /** Whether the server limits or refuses us. */
  readonly throttled: boolean
  /** Whether it does so for all names; if not, the reason may also be this name. */
  readonly isSure: boolean
  /** Whether the registry reserves the name. */
  readonly reserved: boolean
  /** At most 20, of 200 characters each. */
  readonly statuses: readonly string[]
  /** The registrar's own WHOIS server. */
  readonly referral: string | null
}

const MAX_STATUSES = 20

/** Parses a port 43 reply of any registry. */
export function parseWhois(text: string, hints: WhoisHints = {}): WhoisRecord {
  if (PAGE.test(text)) return BLANK
  const reply = ofTheName(readWhoisText(text))
  const order = orderOf(reply, hints)
  const created = dateField('created', reply, order)
  const expires = dateField('expires', reply, order)
  const registrar = registrarOf(reply.entries)
  const statuses = valuesOf('status', reply.entries).slice(0, MAX_STATUSES).map(shortText)
  const record = {
    registrar,
    created: created?.day ?? null,
    expires: expires?.day ?? null,
    createdAt: instantOf(created),
    expiresAt: instantOf(expires),
  }
  const facts = Number(created !== null) + Number(expires !== null) + Number(registrar !== null)
  const holders = valuesOf('holder', reply.entries)
  const heldByNobody = holders.length > 0 && holders.every(isDenial)
  const known = facts > 0 || (holders.length > 0 && !heldByNobody)
  const rest = { statuses, referral: valuesOf('referral', reply.entries)[0] ?? null }
  // A status outweighs a line, which may be legal text about limits.
  const free = statuses.some((status) => FREE_STATUS.test(status))
  const bare = withoutName(reply.lines, hints.domain)
  const others = bare.filter((line, at) => line !== reply.lines[at])
  const isDenied = reply.lines.some(isDenial) || others.some(isDenial)
  const isRecord = describesName(reply.entries, statuses)
  if (facts === 0 && !free) {
    const refusal = refusalOf(reply, bare, { isRecord, isUnderstood: isRecord || isDenied })
    if (refusal !== null) {
      return { ...BLANK, ...rest, throttled: true, isSure: refusal === 'of_all' }
    }
  }
  if (facts < 2 && (free || (facts === 0 && (heldByNobody || isDenied)))) {
    return { ...BLANK, ...rest, registered: false }
  }
  const reserved = statuses.some(isReserved) || (!known && reply.lines.some(isReserved))
  const isOnlyReserved = statuses.length > 0 && statuses.every(isReserved)
  // Nobody holds a name that is only reserved; and the lines may be of legal text.
  const registered = known || (isRecord && !isOnlyReserved) ? true : null
  return { ...BLANK, ...rest, ...record, registered, reserved }
}

// Thin registries once listed every host whose name began with the domain before the domain itself.
function ofTheName(reply: WhoisText): WhoisText {
  const first = reply.entries.findIndex((entry) => entry.key === 'domain name')
  if (first <= 0 || reply.entries[0]?.key !== 'server name') return reply
  return { ...reply, entries: reply.entries.slice(first) }
}

const BLANK: WhoisRecord = {
  registered: null,
  registrar: null,
  created: null,
  expires: null,
  createdAt: null,
  expiresAt: null,
  throttled: false,
  isSure: false,
  reserved: false,
  statuses: [],
  referral: null,
}

/** Text that servers put before and after the sentence itself. */
const AROUND = /^(?:(?:error|info|notice|result|message)\b[\s:.-]*(?:\d+[\s:]+)?)+|(?<=\w)\.{2,}$/gi

function isDenial(line: string): boolean {
  const bare = line.replace(AROUND, '')
  if (OF_ANOTHER.test(bare)) return false
  return DENIALS.some(({ pattern }) => pattern.test(line) || (bare !== line && pattern.test(bare)))
}

function isReserved(line: string): boolean {
  return RESERVED.test(line)
}

// Some registries have neither dates nor servers under any known key, but always name the holder.
function describesName(entries: readonly WhoisEntry[], statuses: readonly string[]): boolean {
  if (valuesOf('domain', entries).length === 0) return false
  if (statuses.some((status) => !isRefusing(status))) return true
  return entries.filter((entry) => PERSONAL.test(entry.key)).length >= 4
}

const PERSONAL =
  /\b(?:name|organi[sz]ation|address|street|city|country|postal|e ?mail|phone|fax|contact)\b/

function valuesOf(field: FieldRule['field'], entries: readonly WhoisEntry[]): string[] {
  return ranked(field, entries).map((entry) => entry.value)
}

function ranked(field: FieldRule['field'], entries: readonly WhoisEntry[]): WhoisEntry[] {
  const found: { entry: WhoisEntry; rank: number }[] = []
  for (const entry of entries) {
    const rule = FIELDS.find(
      (row) =>
        row.field === field &&
        row.key.test(entry.key) &&
        (row.section === undefined || row.section.test(entry.section)),
    )
    if (rule !== undefined) found.push({ entry, rank: rule.rank })
  }
  return found.toSorted((a, b) => a.rank - b.rank).map(({ entry }) => entry)
}

function registrarOf(entries: readonly WhoisEntry[]): string | null {
  for (const value of valuesOf('registrar', entries)) {
    const name = cleanRegistrar(value)
    if (name !== null) return HANDLE.test(name) ? (nameOfHandle(name, entries) ?? name) : name
  }
  return null
}

/** `REG-GRANSY`, `ua.markmonitor`: identifiers, which are not written like company names. */
const HANDLE = /^(?:[A-Z0-9]+-[A-Z0-9-]+|[a-z]{2}\.[a-z0-9-]+)$/

// Registries that keep registrars as objects print the object in a paragraph of its own.
function nameOfHandle(handle: string, entries: readonly WhoisEntry[]): string | null {
  const objects = entries.filter(
    (entry) => entry.key.startsWith('registrar') && entry.value === handle,
  )
  for (const { block } of objects) {
    const object = entries.filter((entry) => entry.block === block)
    if (object[0]?.value !== handle) continue
    const name = object.find((entry) => /^(?:organi[sz]ation|org|name)$/.test(entry.key))
    if (name !== undefined) return cleanRegistrar(name.value)
  }
  return null
}

// Handles and tags that a registry puts behind the name are not part of it. White space is tried
// from its beginning alone.
function cleanRegistrar(value: string): string | null {
  const name = value
    .replace(/(?<!\s)\s*\[tag = .*$/i, '')
    .replace(/(?<!\s)\s*\((?:R\d+-\w+|\d{6})\)\s*$/, '')
    .replace(/(?<!\s)\s+\(https?:[^()]*\)$/, '')
    .replace(/(?<!\s)\s+R\d+-[A-Z]+\s*$/, '')
    .trim()
  return name === '' || /^(?:-|none|n\/a|not\.defined\.?)$/i.test(name) ? null : shortText(name)
}

function dateField(
  field: 'created' | 'expires',
  reply: WhoisText,
  order: DateOrder,
): WhoisDate | null {
  let best: { date: WhoisDate; rank: number } | null = null
  for (const entry of reply.entries) {
    const rank = dateRank(field, entry)
    if (rank === null || (best !== null && best.rank <= rank)) continue
    const date = parseWhoisDate(entry.value, order)
    if (date !== null) best = { date, rank }
  }
  if (best !== null) return best.date
  for (const line of reply.lines) {
    for (const sentence of DATE_SENTENCES) {
      if (sentence.field !== field) continue
      const date = parseWhoisDate(sentence.pattern.exec(line)?.[1] ?? '', order)
      if (date !== null) return date
    }
  }
  return null
}

function dateRank(field: 'created' | 'expires', entry: WhoisEntry): number | null {
  const rule = FIELDS.find((row) => row.field === field && row.key.test(entry.key))
  if (rule !== undefined) return rule.rank
  const word = DATE_WORDS.find((row) => row.key.test(entry.key))
  return word?.field === field ? word.rank : null
}

function orderOf(reply: WhoisText, hints: WhoisHints): DateOrder {
  for (const line of reply.lines) {
    const said = /\b(dd)[-/.]mm[-/.]yyyy\b|\b(mm)[-/.]dd[-/.]yyyy\b/i.exec(line)
    if (said !== null) return said[1] === undefined ? 'mdy' : 'dmy'
  }
  for (const { value } of reply.entries) {
    const plain = /^(\d{1,2})[-./](\d{1,2})[-./]\d{4}\b/.exec(value)
    if (Number(plain?.[1]) > 12) return 'dmy'
    if (Number(plain?.[2]) > 12) return 'mdy'
  }
  return dateOrderOf(hints.tld?.split('.').at(-1))
}
