import { MESSAGES, Problem } from '@plumbline/contract/problem'
import type { Product } from '@plumbline/contract/products'
import { isTemporary } from '@plumbline/db/retry'
import type { FinalizeRequest, ClosedDebit } from '@plumbline/metering/debit-closing'
import type { Metering } from '@plumbline/metering/metering'
import type { Response } from 'express'
import { setTimeout as wait } from 'node:timers/promises'
import { insufficientCredits } from './access.ts'
import type { Context } from './context.ts'
import { waitBriefly } from './database-time-limit.ts'
import type { Deadline } from './deadline.ts'
import type { Run } from './idempotency.ts'
import { callerOf, requestContextOf } from './request-context.ts'
import type { JsonResponse } from './response.ts'

/** The debit of one call. */
interface Debit {
  readonly accountId: string
  readonly opKey: string
}

/** The price of one call. */
interface Price {
  readonly product: Product
  readonly credits: number
}

/**
 * Debits the price of a call before its work. A debit that is granted after the call was refused is
 * refunded.
 *
 * @throws Problem `payment_required` if the balance is too low or the account's daily limit
 * reached, `unavailable` if the database is down, `timeout` at the deadline
 */
export async function debitOrRefuse(
  ctx: Context,
  res: Response,
  operation: Debit,
  { product, credits }: Price,
  deadline: Deadline,
): Promise<void> {
  const context = requestContextOf(res)
  const debiting = ctx.metering.debit({
    ...operation,
    credits,
    use: { product, source: callerOf(res).keyId === null ? 'app' : 'api' },
  })
  const refundLate = (): void => {
    debiting
      .then((late) =>
        late.granted ? ctx.metering.refund({ ...operation, reason: 'timeout' }) : null,
      )
      .catch(ctx.onError)
  }
  const answer = ctx.database.orRefused(debiting, { late: refundLate })
  const debit = await deadline.first(answer, refundLate)
  const available = debit.granted ? debit.remaining : debit.available
  context.creditsRemaining = available
  ctx.access.balances.note(operation.accountId, available)
  if (!debit.granted) {
    throw debit.lacks === 'balance' ? insufficientCredits() : dailyLimitReached()
  }
  context.creditsCharged = credits
}

/**
 * Makes a debit final: in one transaction with the response stored for repeats, or in the
 * background if none is stored. Nothing can fail between that and sending the response, so a slow
 * client does not affect the price.
 *
 * @throws Problem `unavailable` if the debit was refunded meanwhile because of its age
 */
export async function finalizeDebit(
  ctx: Context,
  run: Run,
  response: JsonResponse,
  request: FinalizeRequest & { readonly giveBack: number },
): Promise<void> {
  const { keep } = run
  if (keep !== undefined) {
    await ctx.db.kysely.transaction().execute(async (tx) => {
      await keep(tx, response)
      refuseRefunded(await ctx.metering.finalizeIn(tx, request))
    })
  } else if (request.giveBack > 0) {
    refuseRefunded(await ctx.metering.finalize(request))
  } else {
    const { metering, onError } = ctx
    // Where the process dies before this is written, the sweep refunds a call that may have been
    // answered.
    void finalizeInBackground(
      { metering, timeoutMs: ctx.settings.DEBIT_TIMEOUT_SECONDS * 1_000, onError },
      request,
    )
  }
}

/** The refusal of a call beyond the account's own daily limit. */
function dailyLimitReached(): Problem {
  return new Problem(
    'payment_required',
    'The daily spending limit that this account has set itself is reached; raise it in the settings of the account, or try again tomorrow.',
  )
}

/** Refunds a failed call; if that fails, the sweep does it later. */
export async function refundDebit(ctx: Context, operation: Debit, error: unknown): Promise<void> {
  const reason = error instanceof Problem ? error.code : 'internal'
  const refunding = ctx.metering.refund({ ...operation, reason })
  await waitBriefly(refunding.then(() => undefined, ctx.onError))
}

/**
 * Counts the credits of a call, and records them with the balance in the request context, for the
 * headers of the response.
 */
export function recordCredits(
  ctx: Context,
  res: Response,
  product: Product,
  credits: { readonly charged: number; readonly back: number },
): void {
  ctx.countCredits(product, credits)
  const { charged, back } = credits
  const context = requestContextOf(res)
  context.creditsCharged = charged
  if (back === 0 || context.creditsRemaining === undefined) return
  context.creditsRemaining += back
  ctx.access.balances.note(callerOf(res).accountId, context.creditsRemaining)
}

/** Refuses to answer a call whose debit was refunded because of its age. */
function refuseRefunded({ state }: ClosedDebit): void {
  if (state === 'answered') return
  throw new Problem('unavailable', MESSAGES.timeout, { retryAfterSeconds: 1 })
}

/** Dependencies and time-outs of making a debit final. */
export interface Finalizer {
  readonly metering: Pick<Metering, 'finalize'>
  /** Milliseconds after which a debit that is not final is refunded. */
  readonly timeoutMs: number
  readonly onError: (error: unknown) => void
  /** Milliseconds between two attempts; default half a second. */
  readonly retryMs?: number
}

/** Milliseconds between two attempts while the database is unreachable. */
const RETRY_MS = 500

/**
 * Makes a debit final after its call was answered. While the database is down it retries until the
 * debit would have been refunded; other errors go to `onError` at once.
 */
export async function finalizeInBackground(
  { metering, timeoutMs, onError, retryMs = RETRY_MS }: Finalizer,
  request: FinalizeRequest,
): Promise<void> {
  const endMs = performance.now() + timeoutMs
  for (;;) {
    try {
      await metering.finalize(request)
      return
    } catch (error) {
      if (!isTemporary(error) || performance.now() >= endMs) {
        onError(error)
        return
      }
      await wait(retryMs, undefined, { ref: false })
    }
  }
}
