import type { Vendor } from '@plumbline/contract/vendors'

/** A column of another service's export that holds a part of its verdict. */
export interface ClaimColumn {
  /** 0-based. */
  readonly column: number
  readonly header: string
}

/** Columns of another service's export with its verdict on an address, and the date. */
export interface ClaimColumns {
  readonly vendor: Vendor
  readonly verdict: ClaimColumn
  /** The reason for the verdict, or a sub-status. */
  readonly detail: ClaimColumn | undefined
  readonly acceptAll: ClaimColumn | undefined
  readonly at: ClaimColumn | undefined
}

/** Column names of a service's export, compared in lower case with words separated by blanks. */
interface ExportNames {
  readonly vendor: Vendor
  /** Prefix that the service, or a program that appends its columns, adds to names. */
  readonly prefix: string
  /** A name that only this service uses. */
  readonly own: RegExp
  /**
   * A name that other services use too: accepted if all columns of `beside` exist and its cells
   * hold the service's words.
   */
  readonly plain: RegExp
  readonly beside: readonly RegExp[]
  readonly detail: RegExp
}

/**
 * Column names of the services. Sources: the SDKs of ZeroBounce (`getfile`) and its page
 * "Downloading your results"; `jobs/download` of NeverBounce's API 4.2; the batch results of
 * Kickbox, Emailable and Bouncer by their API references; all read in November 2026.
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

/** Names of columns with the time of a verdict, without prefixes. */
const AT =
  '(?:(?:verified|validated|verification|validation|processed|checked) (?:at|on|date|time|timestamp)|last (?:verified|validated|checked)(?: at| on)?|date (?:verified|validated|processed|checked))'

/**
 * Finds the columns of another service's export.
 *
 * @param rows a sample, to verify names that others use too
 * @param isWord whether a cell holds one of a service's verdict words
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

/** Longest column name that is compared. */
const NAME_CHARS = 60

/** Normalizes a name: `domain.acceptAll`, `Domain_Accept-All` and `domain accept all` are equal. */
function plainName(name: string): string {
  if (name.length > NAME_CHARS) return ''
  return name
    .replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
}
