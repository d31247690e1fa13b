import type { Db } from '@plumbline/db/database'
import { RETRY, openGroupCommit, type GroupCommit } from './group-commit.ts'
import { assertCredits, assertKey, runWithoutRepeats, type Operation } from './operation.ts'
import type { CallUse } from './usage.ts'
import { runStatement } from './statement.ts'

/** Request for a debit. */
export interface DebitRequest extends Operation {
  readonly credits: number
  /** Product and source in usage statistics; if left out, it is not counted. */
  readonly use?: CallUse
}

/** A debit is granted in full or refused. */
export type DebitResult =
  | { readonly granted: true; readonly remaining: number }
  | InsufficientCredits

/** A refusal for lack of credits, with the credits that the account has. */
export interface InsufficientCredits {
  readonly granted: false
  readonly available: number
  /** Whether the balance was too low, or only the account's own daily limit. */
  readonly lacks: 'balance' | 'daily_limit'
}

/**
 * Maximum number of debits in a batch: enough for the concurrent callers of one process; a
 * statement takes less than about 10 ms.
 */
const MAX_ITEMS = 256

/**
 * Maximum number of batches in flight: while one is flushed to disk, a second one of other accounts
 * is computed.
 */
const MAX_RUNS = 2

/**
 * Milliseconds between two batches of many debits, and how many those are: more share the next
 * statement, which saves more time than they wait (docs/reliability.md, "Single calls of many
 * accounts"). A lone caller never waits.
 */
const PAUSE_MS = 3
const PAUSE_FROM = 6

/** Opens a group commit that makes debits of all accounts. */
export function openDebits(db: Db): GroupCommit<DebitRequest, DebitResult> {
  const commits = openGroupCommit<DebitRequest, DebitResult>({
    maxItems: MAX_ITEMS,
    maxRuns: MAX_RUNS,
    pauseMs: PAUSE_MS,
    pauseFrom: PAUSE_FROM,
    orderKeyOf: (request) => request.accountId,
    run: (requests) =>
      runWithoutRepeats(
        requests,
        async (distinct) => (await takeAtOnce(db, distinct)) ?? (await judge(db, distinct)),
      ),
  })
  return {
    submit: async (request) => {
      assertKey('opKey', request.opKey)
      assertCredits(request.credits, 1)
      return commits.submit(request)
    },
    [Symbol.asyncDispose]: () => commits[Symbol.asyncDispose](),
  }
}

/** Makes the debits of one account if all can be granted; else makes none. */
async function takeAtOnce(
  db: Db,
  requests: readonly DebitRequest[],
): Promise<readonly DebitResult[] | undefined> {
  const [first] = requests
  if (first === undefined || requests.some((request) => request.accountId !== first.accountId))
    return undefined
  const [taken] = await runStatement<{ before: number | null }>(db, {
    name: 'metering.debit_one',
    text: 'select credit_debit_one($1, $2, $3, $4, $5) as before',
    values: [
      first.accountId,
      requests.map((request) => request.opKey),
      requests.map((request) => request.credits),
      ...usesOf(requests),
    ],
  })
  let remaining = taken?.before ?? undefined
  if (remaining === undefined) return undefined
  const answers: DebitResult[] = []
  for (const { credits } of requests) {
    remaining -= credits
    answers.push({ granted: true, remaining })
  }
  return answers
}

interface Judged {
  readonly status: 'granted' | 'short' | 'repeat' | 'refunded' | 'conflict' | 'unknown'
  readonly available: number | null
  /** The rest of the daily limit. */
  readonly room: number | null
}

async function judge(
  db: Db,
  requests: readonly DebitRequest[],
): Promise<readonly (DebitResult | typeof RETRY)[]> {
  const rows = await runStatement<Judged>(db, {
    name: 'metering.debit',
    text: 'select status, available, room from credit_debit($1, $2, $3, $4, $5)',
    values: [
      requests.map((request) => request.accountId),
      requests.map((request) => request.opKey),
      requests.map((request) => request.credits),
      ...usesOf(requests),
    ],
  })
  return requests.map((request, index) => answerOf(request, rows[index]))
}

/** Products and sources, as two columns. */
function usesOf(requests: readonly DebitRequest[]): readonly (readonly (string | null)[])[] {
  return [
    requests.map(({ use }) => use?.product ?? null),
    requests.map(({ use }) => use?.source ?? null),
  ]
}

function answerOf(request: DebitRequest, judged: Judged | undefined): DebitResult | typeof RETRY {
  const available = judged?.available ?? 0
  switch (judged?.status) {
    case 'granted':
    case 'repeat':
      return { granted: true, remaining: available }
    case 'short':
      if (request.credits > available) return { granted: false, available, lacks: 'balance' }
      // Otherwise it was refused only because of a larger debit before it, which was refused
      // itself.
      return request.credits > (judged.room ?? request.credits)
        ? { granted: false, available, lacks: 'daily_limit' }
        : RETRY
    case 'conflict':
      throw new Error(
        `debit ${request.opKey} of ${request.accountId} took effect with other credits`,
      )
    case 'refunded':
      throw new Error(`debit ${request.opKey} of ${request.accountId} was refunded; use a new key`)
    case 'unknown':
    case undefined:
      throw new Error(`account ${request.accountId} has no balance`)
  }
}
