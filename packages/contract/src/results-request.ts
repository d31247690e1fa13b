import { ADVICE } from './advice.ts'
import { REASONS } from './reasons.ts'

/** Forms of a result file; `zip` holds a CSV file for each advice. */
export const RESULT_FORMATS = ['csv', 'ndjson', 'xlsx', 'zip'] as const
/** Form of a result file. */
export type ResultFormat = (typeof RESULT_FORMATS)[number]

/** Forms of the file of refused rows. */
export const REFUSED_FORMATS = ['csv', 'ndjson', 'xlsx'] as const

/** Words that `only` of a result file accepts, by kind. */
export const RESULT_FILTERS = {
  /** Email statuses, and risk levels of fraud signals. */
  verdicts: ['deliverable', 'undeliverable', 'risky', 'unknown', 'low', 'medium', 'high'],
  /** Statuses of rows. */
  statuses: ['done', 'known', 'refused', 'blank', 'waiting', 'canceled', 'error'],
  advices: ADVICE,
  reasons: [...new Set(Object.values(REASONS).flatMap((reasons) => Object.keys(reasons)))],
} as const satisfies Record<string, readonly string[]>

const FILTERS: ReadonlySet<string> = new Set(Object.values(RESULT_FILTERS).flat())

/** Whether `only` accepts this word. */
export function isResultFilter(word: string): boolean {
  return FILTERS.has(word)
}

/** The values of `only`, in a sentence; reasons are too many to list. */
export const FILTERS_WANTED = `\`only\` takes verdicts (${RESULT_FILTERS.verdicts.join(', ')}), row statuses (${RESULT_FILTERS.statuses.join(', ')}), advices (${ADVICE.join(', ')}) and reason codes such as mailbox_full, separated by commas.`
