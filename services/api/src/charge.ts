import { DAILY_LIMIT_REACHED, MESSAGES, Problem } from '@plumbline/contract/problem'
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
import { problemOf, type JsonResponse } from './response.ts'

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
  let isLate = false
  const refundLate = (): void => {
    if (isLate) return
    isLate = true
    debiting
      .then((late) =>
        late.granted ? refund(ctx, { ...operation, product, credits }, 'timeout') : null,
      )
      .catch(ctx.onError)
  }
  const answer = ctx.database.orRefused(debiting, { late: refundLate, hasDeadline: true })
  const debit = await deadline.first(answer, refundLate)
  const available = debit.granted ? debit.remaining : debit.available
  context.creditsRemaining = available
  ctx.access.balances.note(operation.accountId, available)
  if (!debit.granted) {
    if (debit.lacks === 'balance') throw insufficientCredits()
    throw new Problem('payment_required', DAILY_LIMIT_REACHED)
  }
  context.creditsCharged = credits
}

/**
 * Makes a debit final: in one transaction with the response stored for repeats, by the deadline, or
 * in the background if none is stored. Nothing can fail between that and sending the response, so a
 * slow client does not affect the price.
 *
 * @throws Problem `unavailable` if the debit was refunded meanwhile because of its age. After
 * `timeout`, and where a connection broke, it may be final all the same: see `endFailed`
 */
export async function finalizeDebit(
  ctx: Context,
  run: Run,
  response: JsonResponse,
  request: FinalizeRequest & { readonly giveBack: number },
  deadline: Deadline,
): Promise<void> {
  const { keep } = run
  if (keep !== undefined) {
    await deadline.first(
      ctx.callDb.kysely.transaction().execute(async (tx) => {
        await keep(tx, response)
        refuseRefunded(await ctx.metering.finalizeIn(tx, request))
      }),
    )
    return
  }
  const { metering, onError } = ctx
  // Where the process dies before this is written, the sweep refunds a call that may have been
  // answered.
  const finalizing = finalizeInBackground(
    { metering, timeoutMs: ctx.settings.DEBIT_TIMEOUT_SECONDS * 1_000, onError },
    request,
  )
  // The next call may need the credits that are given back.
  if (request.giveBack > 0) await waitBriefly(finalizing)
}

/** Milliseconds that the refund is awaited of a call whose commit has no reply, within its deadline. */
const IN_DOUBT_MS = 1_000

/**
 * Ends a call that failed after its debit: refunds it, or leaves that to the sweep, and records the
 * credits.
 *
 * @param response the response if the debit was being made final together with it
 * @returns the response if it is stored and the debit final: only the reply to the commit was lost
 * @throws `error`, or a Problem of the same code if the debit may yet turn out to be final
 */
export async function endFailed(
  ctx: Context,
  res: Response,
  debit: Debit & Price,
  error: unknown,
  response: JsonResponse | undefined,
): Promise<JsonResponse> {
  const reason = error instanceof Problem ? error.code : 'internal'
  const refunding = refund(ctx, debit, reason).catch((cause: unknown) => {
    ctx.onError(cause)
    return undefined
  })
  // Only the refund shows what became of a commit without a reply.
  const isWorthWaiting = response !== undefined && reason !== 'timeout'
  const closed = await waitBriefly(refunding, isWorthWaiting ? IN_DOUBT_MS : undefined)
  if (response !== undefined && closed === undefined) throw inDoubt(error)
  const back = closed?.given ?? debit.credits
  if (response !== undefined && closed?.state === 'answered') {
    showCredits(ctx, res, { charged: debit.credits - back, back })
    return response
  }
  showCredits(ctx, res, { charged: 0, back })
  throw error
}

/** Refunds a debit, unless it is final, and counts the credits by what became of it. */
async function refund(
  ctx: Context,
  { product, credits, ...operation }: Debit & Price,
  reason: string,
): Promise<ClosedDebit> {
  const closed = await ctx.metering.refund({ ...operation, reason })
  const { state, given } = closed
  ctx.countCredits(product, { charged: state === 'answered' ? credits - given : 0, back: given })
  return closed
}

/** The refusal of a keyed call which is charged if the commit of its response took effect. */
export function inDoubt(error: unknown): Problem {
  const { code, retryAfterSeconds } = problemOf(error)
  return new Problem(
    code,
    'The call may have been charged; send it again with the same Idempotency-Key, and it is charged once.',
    { cause: error, ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }) },
  )
}

/** The credits of one call: what it cost, and what of its debit was returned. */
interface CallCredits {
  readonly charged: number
  readonly back: number
}

/** Counts and records the credits of a call whose debit is final. */
export function recordCredits(
  ctx: Context,
  res: Response,
  product: Product,
  credits: CallCredits,
): void {
  ctx.countCredits(product, credits)
  showCredits(ctx, res, credits)
}

/** Records credits and balance in the request context, for the headers of the response. */
function showCredits(ctx: Context, res: Response, { charged, back }: CallCredits): void {
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
