import type { Vendor } from '@plumbline/contract/vendors'

/** A column of an export that tells something of a verdict. */
export interface ClaimColumn {
  /** 0-based. */
  readonly column: number
  readonly header: string
}

/** Where an export of another service says what it found out about an address, and when. */
export interface ClaimColumns {
  readonly vendor: Vendor
  readonly verdict: ClaimColumn
  /** What lies behind the verdict: a sub-status or reason. */
  readonly detail: ClaimColumn | undefined
  readonly acceptAll: ClaimColumn | undefined
  readonly at: ClaimColumn | undefined
}

/** How the columns of a service's export are named; names are compared in lower case, words parted by a blank. */
interface ExportNames {
  readonly vendor: Vendor
  /** What the service, or who appends its columns, puts before them. */
  readonly prefix: string
  /** A column that is the service's beyond doubt. */
  readonly own: RegExp
  /** A name that others use too: believed where all of `beside` are there and its cells are the service's words. */
  readonly plain: RegExp
  readonly beside: readonly RegExp[]
  readonly detail: RegExp
}

/**
 * Columns as the services write them. Sources: the SDKs of ZeroBounce (`getfile`) and its page "Downloading your
 * results"; `jobs/download` of NeverBounce's API 4.2; the batch results of Kickbox, Emailable and Bouncer by their
 * API references; all read in November 2026.
 */
const EXPORTS: readonly ExportNames[] = [
  {
    vendor: 'zerobounce',
    prefix: '(?:zb|zero ?bounce)',
    own: /^(?:zb|zero ?bounce) (?:status|result)$/,
    plain: /^status$/,
    beside: [/^sub ?status$/],
    detail: /^(?:(?:zb|zero ?bounce) )?sub ?status$/,
  },
  {
    vendor: 'neverbounce',
    prefix: '(?:nb|never ?bounce)',
    own: /^(?:nb|never ?bounce)(?: email)? (?:status|result)$/,
    plain: /^email status(?: int)?$/,
    beside: [],
    detail: /^(?:nb|never ?bounce) reason$/,
  },
  {
    vendor: 'kickbox',
    prefix: 'kickbox',
    own: /^kickbox (?:result|status)$/,
    plain: /^result$/,
    beside: [/^reason$/, /^sendex$/],
    detail: /^(?:kickbox )?reason$/,
  },
  {
    vendor: 'emailable',
    prefix: 'emailable',
    own: /^emailable (?:state|status|result)$/,
    plain: /^state$/,
    beside: [/^reason$/, /^score$/],
    detail: /^(?:emailable )?reason$/,
  },
  {
    vendor: 'bouncer',
    prefix: '(?:use ?)?bouncer',
    own: /^(?:use ?)?bouncer (?:status|result)$/,
    plain: /^status$/,
    beside: [
      /^reason$/,
      /^(?:domain accept all|domain disposable|account role|toxic|toxicity|retry after)$/,
    ],
    detail: /^(?:(?:use ?)?bouncer )?reason$/,
  },
]

/** Times of a verdict, without what services put in front. */
const AT =
  '(?:(?:verified|validated|verification|validation|processed|checked) (?:at|on|date|time|timestamp)|last (?:verified|validated|checked)(?: at| on)?|date (?:verified|validated|processed|checked))'

/**
 * Finds the columns of an export of another service.
 * @param rows a sample, by which names that others use too are believed
 * @param isWord whether a cell holds one of a service's words
 */
export function findClaimColumns(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  isWord: (vendor: Vendor, cell: string) => boolean,
): ClaimColumns | undefined {
  const names = header.map(plainName)
  const at = (pattern: RegExp): ClaimColumn | undefined => {
    const column = names.findIndex((name) => pattern.test(name))
    return column === -1 ? undefined : { column, header: header[column] ?? '' }
  }
  const columnsOf = (names: ExportNames, verdict: ClaimColumn): ClaimColumns => ({
    vendor: names.vendor,
    verdict,
    detail: at(names.detail),
    acceptAll: at(new RegExp(`^(?:${names.prefix} )?(?:domain )?accept all$`)),
    at: at(new RegExp(`^${names.prefix} (?:${AT}|date)$`)) ?? at(new RegExp(`^${AT}$`)),
  })
  for (const one of EXPORTS) {
    const verdict = at(one.own)
    if (verdict !== undefined) return columnsOf(one, verdict)
  }
  for (const one of EXPORTS) {
    const verdict = at(one.plain)
    if (verdict === undefined || !one.beside.every((name) => at(name) !== undefined)) continue
    const said = rows.map((row) => (row[verdict.column] ?? '').trim()).filter((cell) => cell !== '')
    const isTheirs = said.length > 0 && said.every((cell) => isWord(one.vendor, cell))
    if (isTheirs) return columnsOf(one, verdict)
  }
  return undefined
}

/** Characters of a column's name at most: what is longer is no name of theirs, and may hold anything. */
const NAME_CHARS = 60

/** `domain.acceptAll`, `Domain_Accept-All` and `domain accept all` are one name. */
function plainName(name: string): string {
  if (name.length > NAME_CHARS) return ''
  return name
    .replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
}
