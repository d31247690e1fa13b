import { z } from 'zod'
import { KNOWN, VENDORS, type Vendor } from './vendors.ts'

/** Claimed verdicts that are accepted without a check; rows with any other verdict are checked. */
export const CLAIMED_VERDICTS = ['deliverable', 'undeliverable'] as const
/** Claimed verdict that is accepted without a check. */
export type ClaimedVerdict = (typeof CLAIMED_VERDICTS)[number]

/** The error for `known_at` without `known`. */
export const KNOWN_AT_ALONE =
  '`known_at` is the date of the verdicts that `known` goes by; send `known` too, such as 30d.'

const daysWanted = `\`known\` must be a number of days such as 30d, from 1d to ${KNOWN.maxDays}d.`
/** Maximum age in days of an accepted verdict of another service. */
export const known = z
  .string(daysWanted)
  .regex(/^[1-9]\d{0,2}d$/, daysWanted)
  .refine((text) => daysOf(text) <= KNOWN.maxDays, daysWanted)
  .meta({
    description: `Rows of an export of ${Object.values(VENDORS).join(', ')} with a definite verdict that is no older are not checked, but for ${KNOWN.askedRows}.`,
    examples: ['30d'],
  })

const atWanted = '`known_at` must be a day that has come, such as 2026-11-01.'
/** Date of the verdicts, if the export does not give one for each. */
export const knownAt = z
  .string(atWanted)
  .regex(/^\d{4}-\d\d-\d\d$/, atWanted)
  .refine(isDay, atWanted)
  .meta({
    description: 'Day of the verdicts, where the export has none.',
    examples: ['2026-11-01'],
  })

/** The days that `known` names. */
export function daysOf(text: string): number {
  return Number.parseInt(text, 10)
}

const DAY_MS = 86_400_000

/** A calendar day; may be tomorrow by UTC, which is already today in the east. */
function isDay(text: string): boolean {
  const ms = Date.parse(`${text}T00:00:00Z`)
  if (Number.isNaN(ms) || new Date(ms).toISOString().slice(0, 10) !== text) return false
  return ms <= Date.now() + DAY_MS
}

const count = z.int().min(0)
const column = z.strictObject({ column: count, header: z.string() })

/** Another service's verdict on a row, and our own outcome. */
const askedRow = z.strictObject({
  row: z.int().min(1),
  ref: z.string().nullable(),
  said: z.strictObject({
    verdict: z.enum(CLAIMED_VERDICTS),
    /** The verdict in the service's own word. */
    word: z.string(),
    /** Date of the verdict. */
    at: z.iso.date(),
  }),
  /** Our outcome; null until the row is answered, and if it never was. */
  found: z
    .strictObject({
      verdict: z.string(),
      reason: z.string(),
    })
    .nullable(),
  /**
   * Whether both verdicts are the same; null if there is no outcome, or it is not definite (risky,
   * unknown).
   */
  agrees: z.boolean().nullable(),
})

/**
 * Accepted verdicts of another service, compared with the outcomes of the rows that were checked
 * nevertheless.
 */
export const batchKnown = z.strictObject({
  batch_id: z.string(),
  vendor: z.enum(Object.keys(VENDORS) as [Vendor, ...Vendor[]]),
  /** Columns of the verdicts and of their dates; null if `known_at` gave the date. */
  columns: z.strictObject({ verdict: column, at: column.nullable() }),
  days: z.int().min(1),
  rows: z.strictObject({
    /** Rows that are not checked. */
    known: count,
    /**
     * Rows with an accepted verdict that are checked nevertheless, and those of them that are
     * answered.
     */
    asked: count,
    answered: count,
    agreed: count,
    disagreed: count,
    /** Answered rows without a definite outcome. */
    undecided: count,
  }),
  asked: z.array(askedRow),
})
/** Comparison of another service's verdicts with our outcomes. */
export type BatchKnown = z.infer<typeof batchKnown>
