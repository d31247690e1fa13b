import type { Check } from '@plumbline/contract/products'
import { pack, unpackColumns, type OutcomeColumns } from './codec.ts'
import type { Columns } from './outcome-columns.ts'
import { scrubJson } from './scrub-json.ts'

/** Values to remove from outcomes. */
export interface OutcomeBlanks {
  /** Positions of outcomes to blank: identifying values are removed, the status stays. */
  readonly places: ReadonlySet<number>
  /** Applied to every other text. */
  readonly scrub: (text: string) => string
}

/**
 * Facts that are the same for many subjects: they stay in a blanked outcome, as do booleans and
 * null.
 */
const OPEN_FACTS: ReadonlySet<string> = new Set(['mailbox', 'confidence', 'lineType', 'numberType'])

/** Facts that results show as text, and which must therefore stay strings. */
const NAMING_FACTS: Readonly<Record<Check, readonly string[]>> = {
  email: ['address', 'normalized'],
  phone: ['number'],
  ip: ['ip'],
  domain: ['domain'],
}

/** Removes values from packed outcomes of a check; undefined if there is nothing to remove. */
export function blankOutcomes(
  check: Check,
  bytes: Buffer,
  { places, scrub }: OutcomeBlanks,
): Buffer | undefined {
  const before = unpackColumns(bytes)
  const { count, fields, facts, suggested } = before
  const blankFact = (name: string, value: unknown): unknown => {
    if (typeof value === 'boolean' || value === null || OPEN_FACTS.has(name)) return value
    if (name === 'signals') return bareSignals(value)
    return NAMING_FACTS[check].includes(name) ? '' : null
  }
  const blankField = (name: string, value: unknown): unknown => (name === 'evidence' ? {} : value)
  const columnsWithout = (columns: Columns, blank: typeof blankFact): Columns =>
    Object.fromEntries(
      Object.entries(columns).map(([name, column]) => [
        name,
        column.map((value, at) =>
          // A place without an outcome has nothing to blank.
          places.has(at) && fields['status']?.[at] !== null
            ? blank(name, value)
            : scrubJson(value, scrub),
        ),
      ]),
    )
  const after = {
    count,
    fields: columnsWithout(fields, blankField),
    facts: columnsWithout(facts, blankFact),
    suggested: Object.fromEntries(
      Object.entries(suggested).filter(
        ([at, domain]) => !places.has(Number(at)) && scrub(domain) === domain,
      ),
    ),
  }
  const isSame = JSON.stringify(after) === JSON.stringify(before)
  return isSame ? undefined : pack(after satisfies OutcomeColumns<Columns>)
}

/** Signals without the texts that they quote; scores only need their codes. */
function bareSignals(signals: unknown): unknown {
  if (!Array.isArray(signals)) return signals
  return signals.map(({ group, code, value }: Readonly<Record<string, unknown>>) => {
    return typeof value === 'number' || typeof value === 'boolean'
      ? { group, code, value }
      : { group, code }
  })
}
