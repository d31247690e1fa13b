import type { ClaimedVerdict } from '@plumbline/contract/known-verdicts'
import type { Vendor } from '@plumbline/contract/vendors'
import type { ClaimColumn, ClaimColumns } from './claim-columns.ts'
import { createDateReader } from './claim-dates.ts'

/** A recent and definite verdict of another service on an address. */
export interface Claim {
  readonly verdict: ClaimedVerdict
  /** The verdict in the service's own word, one of the known ones. */
  readonly word: string
  /** Date of the verdict, `2026-11-01`. */
  readonly at: string
}

/** Reads the verdict in a row; undefined if it does not make a check unnecessary. */
export type ClaimReader = (cell: (column: ClaimColumn) => string | undefined) => Claim | undefined

/** Rules by which verdicts are accepted. */
export interface ClaimRules {
  /** Days that a verdict is accepted. */
  readonly days: number
  /** Date of verdicts without a date of their own. */
  readonly at: string | undefined
  /** When the batch was received, so that the result does not depend on when it is read. */
  readonly asOf: Date
  /** Sample of dates, which show the order of day and month. */
  readonly dates: readonly string[]
}

/** Longer than the longest word of any service. */
const WORD_CHARS = 40

/** Meaning of the words of each service; null: the row is checked. */
const WORDS: Readonly<Record<Vendor, Readonly<Record<string, ClaimedVerdict | null>>>> = {
  zerobounce: {
    valid: 'deliverable',
    invalid: 'undeliverable',
    catch_all: null,
    unknown: null,
    spamtrap: null,
    spam_trap: null,
    abuse: null,
    do_not_mail: null,
  },
  neverbounce: {
    valid: 'deliverable',
    invalid: 'undeliverable',
    disposable: null,
    catchall: null,
    catch_all: null,
    accept_all: null,
    accept_all_unverifiable: null,
    unknown: null,
    // The same as numbers.
    '0': 'deliverable',
    '1': 'undeliverable',
    '2': null,
    '3': null,
    '4': null,
  },
  kickbox: {
    deliverable: 'deliverable',
    undeliverable: 'undeliverable',
    risky: null,
    unknown: null,
  },
  emailable: {
    deliverable: 'deliverable',
    undeliverable: 'undeliverable',
    risky: null,
    unknown: null,
    duplicate: null,
  },
  bouncer: {
    deliverable: 'deliverable',
    undeliverable: 'undeliverable',
    risky: null,
    unknown: null,
  },
}

/** Details that make a verdict indefinite: a guess about the domain, or a temporary state. */
const OPEN_DETAILS: ReadonlySet<string> = new Set([
  'accept_all',
  'role_based_accept_all',
  'role_based_catch_all',
  'low_deliverability',
  'low_quality',
  'mailbox_quota_exceeded',
  'full_mailbox',
  'mailbox_full',
  'greylisted',
  'antispam_system',
  'mail_server_temporary_error',
  'mail_server_did_not_respond',
  'timeout_exceeded',
  'timeout',
  'failed_smtp_connection',
  'forcible_disconnect',
  'exception_occurred',
  'no_connect',
  'unavailable_smtp',
  'unexpected_error',
  'dns_error',
])

/** Whether a cell holds a word that a service uses for its verdicts. */
export function isVendorWord(vendor: Vendor, cell: string): boolean {
  return Object.hasOwn(WORDS[vendor], plainWord(cell))
}

/** Makes the reader of an export's verdicts. */
export function createClaimReader(columns: ClaimColumns, rules: ClaimRules): ClaimReader {
  const words = WORDS[columns.vendor]
  const dayOf = createDayReader(rules)
  return (cell) => {
    const textOf = (column: ClaimColumn | undefined): string =>
      column === undefined ? '' : (cell(column) ?? '').trim()
    const word = plainWord(textOf(columns.verdict))
    const verdict = Object.hasOwn(words, word) ? words[word] : null
    if (verdict === undefined || verdict === null) return undefined
    if (OPEN_DETAILS.has(plainWord(textOf(columns.detail)))) return undefined
    // At a domain that accepts all, `deliverable` proves nothing.
    if (isYes(textOf(columns.acceptAll))) return undefined
    const at = dayOf(textOf(columns.at))
    return at === undefined ? undefined : { verdict, word, at }
  }
}

const DAY_MS = 86_400_000

/**
 * Makes a function that returns the date of a recent verdict: its own, or that of the whole export.
 */
function createDayReader(rules: ClaimRules): (text: string) => string | undefined {
  const asOfMs = rules.asOf.getTime()
  const isFresh = (ms: number): boolean =>
    // East of UTC it may already be the next day.
    ms <= asOfMs + DAY_MS && Math.floor((asOfMs - ms) / DAY_MS) <= rules.days
  const read = createDateReader(rules.dates)
  const ofAll = rules.at === undefined ? undefined : Date.parse(`${rules.at}T00:00:00Z`)
  return (text) => {
    const readings = text === '' ? (ofAll === undefined ? [] : [ofAll]) : read(text)
    // If day and month are ambiguous, it must be recent in both readings.
    if (readings.length === 0 || !readings.every(isFresh)) return undefined
    return new Date(Math.min(...readings)).toISOString().slice(0, 10)
  }
}

function plainWord(text: string): string {
  if (text.length > WORD_CHARS) return ''
  return text
    .trim()
    .toLowerCase()
    .replaceAll(/[\s_-]+/g, '_')
}

function isYes(text: string): boolean {
  return /^(?:true|yes|y|1)$/i.test(text)
}
