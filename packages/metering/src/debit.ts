import type { Db } from '@plumbline/db/database'
import { RETRY, openGroupCommit, type GroupCommit } from './group-commit.ts'
import { assertCredits, assertKey, repeatsIn, type Operation } from './operation.ts'
import type { CallUse } from './usage.ts'
import { runStatement } from './statement.ts'

/** Request for a debit. */
export interface DebitAsk extends Operation {
  readonly credits: number
  /** Product and source in usage statistics; if left out, it is not counted. */
  readonly use?: CallUse
}

/** A debit is granted in full or refused. */
export type DebitAnswer = { readonly granted: true; readonly remaining: number } | Short

/** A refusal for lack of credits, with what the account has. */
export interface Short {
  readonly granted: false
  readonly available: number
  /** Whether the balance was too low, or only the account's own daily limit. */
  readonly lacks: 'balance' | 'daily_limit'
}

/** Enough for the concurrent callers of one process; a statement takes less than about 10 ms. */
const MAX_ITEMS = 256

/** While one batch is flushed to disk, a second one of other accounts is computed. */
const MAX_RUNS = 2

/** Opens a group commit that makes debits of all accounts. */
export function openDebits(db: Db): GroupCommit<DebitAsk, DebitAnswer> {
  const commits = openGroupCommit<DebitAsk, DebitAnswer>({
    maxItems: MAX_ITEMS,
    maxRuns: MAX_RUNS,
    orderKeyOf: (ask) => ask.accountId,
    run: (asks) => runDebits(db, asks),
  })
  return {
    ask: async (ask) => {
      assertKey('opKey', ask.opKey)
      assertCredits(ask.credits, 1)
      return commits.ask(ask)
    },
    [Symbol.asyncDispose]: () => commits[Symbol.asyncDispose](),
  }
}

async function runDebits(
  db: Db,
  asks: readonly DebitAsk[],
): Promise<readonly (DebitAnswer | typeof RETRY)[]> {
  const repeats = repeatsIn(asks)
  const sent = asks.filter((_, index) => !repeats.has(index))
  const answers = (await takeAtOnce(db, sent)) ?? (await judge(db, sent))
  let next = 0
  return asks.map((_, index) => (repeats.has(index) ? RETRY : (answers[next++] ?? RETRY)))
}

/** Makes the debits of one account if all can be granted; else makes none. */
async function takeAtOnce(
  db: Db,
  asks: readonly DebitAsk[],
): Promise<readonly DebitAnswer[] | undefined> {
  const [first] = asks
  if (first === undefined || asks.some((ask) => ask.accountId !== first.accountId)) return undefined
  const [taken] = await runStatement<{ before: number | null }>(db, {
    name: 'metering.debit_one',
    text: 'select credit_debit_one($1, $2, $3, $4, $5) as before',
    values: [
      first.accountId,
      asks.map((ask) => ask.opKey),
      asks.map((ask) => ask.credits),
      ...usesOf(asks),
    ],
  })
  let remaining = taken?.before ?? undefined
  if (remaining === undefined) return undefined
  const answers: DebitAnswer[] = []
  for (const { credits } of asks) {
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
  asks: readonly DebitAsk[],
): Promise<readonly (DebitAnswer | typeof RETRY)[]> {
  const rows = await runStatement<Judged>(db, {
    name: 'metering.debit',
    text: 'select status, available, room from credit_debit($1, $2, $3, $4, $5)',
    values: [
      asks.map((ask) => ask.accountId),
      asks.map((ask) => ask.opKey),
      asks.map((ask) => ask.credits),
      ...usesOf(asks),
    ],
  })
  return asks.map((ask, index) => answerOf(ask, rows[index]))
}

/** Products and sources, as two columns. */
function usesOf(asks: readonly DebitAsk[]): readonly (readonly (string | null)[])[] {
  return [asks.map(({ use }) => use?.product ?? null), asks.map(({ use }) => use?.source ?? null)]
}

function answerOf(ask: DebitAsk, judged: Judged | undefined): DebitAnswer | typeof RETRY {
  const available = judged?.available ?? 0
  switch (judged?.status) {
    case 'granted':
    case 'repeat':
      return { granted: true, remaining: available }
    case 'short':
      if (ask.credits > available) return { granted: false, available, lacks: 'balance' }
      // Otherwise it was refused only because of a larger debit before it, which was refused
      // itself.
      return ask.credits > (judged.room ?? ask.credits)
        ? { granted: false, available, lacks: 'daily_limit' }
        : RETRY
    case 'conflict':
      throw new Error(`debit ${ask.opKey} of ${ask.accountId} took effect with other credits`)
    case 'refunded':
      throw new Error(`debit ${ask.opKey} of ${ask.accountId} was given back; use a new key`)
    case 'unknown':
    case undefined:
      throw new Error(`account ${ask.accountId} has no balance`)
  }
}
