import { shortText } from '@plumbline/net/short-text'
import { plainStatus } from './registration-status.ts'
import { FIRST_YEAR, instantOf, isoSeconds, parseWhoisDate } from './whois-date.ts'

/** Content of an RDAP domain object; null for missing parts. */
export interface RdapRecord {
  /** Name of the object, lower case; null if the body is not a domain object. */
  readonly name: string | null
  /** As the server wrote it: RFC 3339, or another format with a date. */
  readonly created: string | null
  readonly expires: string | null
  /** At most 200 characters. */
  readonly registrar: string | null
  /** Lower case, sorted. */
  readonly nameservers: readonly string[]
  /** RFC 8056 values, lower case with spaces; at most 20, of 200 characters each. */
  readonly statuses: readonly string[]
}

/** Members of one array that are parsed, and nesting levels of entities. */
const MAX_MEMBERS = 200
const MAX_STATUSES = 20
const MAX_DEPTH = 3

/**
 * Parses the body of a domain query (RFC 9083), tolerating common errors of servers: EPP statuses,
 * events without a date, nested entities, names in vCard, JSContact or plain text. Redacted parts
 * (RFC 9537) are null like missing ones. Never throws.
 */
export function parseRdap(body: unknown): RdapRecord {
  const object = objectOf(body)
  const isDomain = textOf(object['objectClassName'])?.toLowerCase() === 'domain'
  const name = textOf(object['ldhName']) ?? textOf(object['unicodeName'])
  return {
    name: isDomain || object['ldhName'] !== undefined ? bareName(name) : null,
    created: eventDate(object, 'registration'),
    expires: eventDate(object, 'expiration'),
    registrar: registrarName(object, 0),
    nameservers: nameserversOf(object),
    statuses: statusesOf(object),
  }
}

/**
 * The date of an event in ISO 8601, UTC, to the second; null without a date, beyond the year 9999, or
 * before the first names: servers write the beginning of their time for a date that they lack.
 */
export function rdapInstant(text: string): string | null {
  const trimmed = text.trim()
  if (/^\d{4}-\d{2}-\d{2}T.*(?:Z|[+-]\d{2}:\d{2})$/i.test(trimmed)) {
    const time = Date.parse(trimmed)
    const instant = Number.isNaN(time) ? '' : isoSeconds(new Date(time))
    if (/^\d{4}-/.test(instant) && Number(instant.slice(0, 4)) >= FIRST_YEAR) return instant
  }
  return instantOf(parseWhoisDate(trimmed, 'dmy'))
}

type JsonObject = { readonly [key: string]: unknown }

function eventDate(object: JsonObject, action: string): string | null {
  for (const member of arrayOf(object['events'])) {
    const event = objectOf(member)
    if (textOf(event['eventAction'])?.trim().toLowerCase() !== action) continue
    const date = textOf(event['eventDate'])?.trim()
    // Nomulus writes the end of its time, a year of six digits, for "never".
    if (date !== undefined && /^\d{4,6}\D?\d{2}/.test(date)) return date
  }
  return null
}

function registrarName(object: JsonObject, depth: number): string | null {
  const entities = arrayOf(object['entities']).map(objectOf)
  for (const entity of entities) {
    const roles = arrayOf(entity['roles']).map((role) => textOf(role)?.toLowerCase())
    const name = roles.includes('registrar') ? entityName(entity) : null
    if (name !== null) return name
  }
  if (depth >= MAX_DEPTH) return null
  for (const entity of entities) {
    const name = registrarName(entity, depth + 1)
    if (name !== null) return name
  }
  return null
}

function entityName(entity: JsonObject): string | null {
  const card = arrayOf(arrayOf(entity['vcardArray'])[1]).map(arrayOf)
  const contact = objectOf(entity['jscard'] ?? entity['jscard_0'])
  return (
    cardText(card, 'fn') ??
    cardText(card, 'org') ??
    present(objectOf(contact['name'])['full']) ??
    present(contact['fullName']) ??
    firstOrganization(contact) ??
    present(entity['name']) ??
    present(entity['handle'])
  )
}

function cardText(card: readonly (readonly unknown[])[], property: string): string | null {
  for (const row of card) {
    if (textOf(row[0])?.toLowerCase() !== property) continue
    const value = Array.isArray(row[3]) ? row[3].map(textOf).filter(isText).join(' ') : row[3]
    const name = present(value)
    if (name !== null) return name
  }
  return null
}

function firstOrganization(contact: JsonObject): string | null {
  for (const organization of Object.values(objectOf(contact['organizations']))) {
    const name = present(objectOf(organization)['name'])
    if (name !== null) return name
  }
  return null
}

function nameserversOf(object: JsonObject): string[] {
  const names: string[] = []
  for (const member of arrayOf(object['nameservers'])) {
    const server = objectOf(member)
    const name = bareName(textOf(server['ldhName']) ?? textOf(server['unicodeName']))
    if (name !== null) names.push(name)
  }
  return names.toSorted()
}

function statusesOf(object: JsonObject): string[] {
  const texts = arrayOf(object['status']).map(textOf).filter(isText)
  return texts.slice(0, MAX_STATUSES).map((text) => shortText(plainStatus(shortText(text))))
}

function bareName(name: string | undefined): string | null {
  const bare = name?.trim().replace(/\.$/, '').toLowerCase()
  return bare === undefined || bare === '' ? null : bare
}

function present(value: unknown): string | null {
  const text = textOf(value)?.trim()
  return text === undefined || text === '' || /^redacted\b/i.test(text) ? null : shortText(text)
}

function isText(value: string | undefined): value is string {
  return value !== undefined
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function arrayOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value.slice(0, MAX_MEMBERS) : []
}

/** Safe: a JSON object has only such members, and those of an array are not used here. */
function objectOf(value: unknown): JsonObject {
  return typeof value === 'object' && value !== null ? (value as JsonObject) : {}
}
