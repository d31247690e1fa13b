import { magicAnswer } from '@plumbline/contract/magic'
import type { Outcome } from '@plumbline/contract/outcome'
import {
  CHECKS,
  checksGiven,
  priceCredits,
  PRODUCT_PLANS,
  type Check,
  type Product,
} from '@plumbline/contract/products'
import { readRequest, type ProductRequest } from '@plumbline/contract/requests'
import type { Outcomes } from '@plumbline/contract/score'
import { assemble } from '@plumbline/pipeline/assemble'
import { chargedCredits } from '@plumbline/pipeline/record'
import type { Response } from 'express'
import { setTimeout as wait } from 'node:timers/promises'
import { admit, isLate, refuseRevoked, showBalance } from '../access.ts'
import { readJson } from '../body.ts'
import type { Context } from '../context.ts'
import { startDeadline, type Deadline } from '../deadline.ts'
import { callerOf, type Caller } from '../request-context.ts'
import { refuseKeyShape } from '../idempotency-key.ts'
import { debitOrRefuse, endFailed, finalizeDebit, recordCredits } from '../charge.ts'
import { withIdempotency, type Run } from '../idempotency.ts'
import { refuseQuery } from '../query.ts'
import { jsonResponse, sendResponse, type JsonResponse } from '../response.ts'
import type { Handler } from './handler.ts'
import { beginLookup, prefersAsync } from './lookups.ts'

/** `POST /v1/<product>`: runs a product's checks on the values of the body (spec.md section 4). */
export function lookUp(ctx: Context, product: Product): Handler {
  return async (req, res) => {
    const caller = await ctx.database.orRefused(
      admit(ctx.access, req, res, { spends: true, hasOwnLimit: true }),
      {
        isCached: true,
      },
    )
    refuseQuery(req)
    const body = await readJson(req, res, ctx.settings)
    if (isLate(res)) await ctx.database.orRefused(refuseRevoked(ctx.access, req, res))
    const request = readRequest(product, body)
    refuseKeyShape(req)
    const isLater = prefersAsync(req)
    using _ = ctx.calls.enter(caller.accountId)
    const response = await withIdempotency(
      ctx.idempotency,
      req,
      res,
      () => (isLater ? ['respond-async', sameRequest(request)] : sameRequest(request)),
      (run) => {
        if (isLater) return beginLookup(ctx, res, product, request, run)
        return caller.mode === 'test'
          ? answerMagic(ctx, product, request)
          : chargeAndAnswer(ctx, res, product, request, run)
      },
      { isPaid: caller.mode === 'live' },
    )
    // Only a header: what is done is not refused for it.
    if (caller.mode === 'test' || isLater) {
      const shown = showBalance(ctx.access, res, false)
      await ctx.database.orRefused(shown, { isCached: true }).catch(ctx.onError)
    }
    sendResponse(res, response)
  }
}

/**
 * Determines whether two requests of a product are the same, whatever the order of their fields.
 */
function sameRequest(request: ProductRequest): object {
  return [...CHECKS.map((check) => request.values[check] ?? null), request.explain]
}

/**
 * Debits the price, runs the checks and makes the response; refunds what fails on our side
 * (decision 12).
 */
async function chargeAndAnswer(
  ctx: Context,
  res: Response,
  product: Product,
  request: ProductRequest,
  run: Run,
): Promise<JsonResponse> {
  const caller = callerOf(res)
  const credits = priceCredits(product, checksGiven(request.values))
  const operation = { accountId: caller.accountId, opKey: run.opKey }
  const refusal = ctx.live.refusal(caller.accountId, checksGiven(request.values))
  if (refusal !== null) throw refusal
  using deadline = startDeadline(ctx.settings.CALL_TIMEOUT_SECONDS * 1_000)
  const debiting = { name: 'debit', kind: 'internal', facts: { product, credits } } as const
  await ctx.tracer.span(debiting, () =>
    debitOrRefuse(ctx, res, operation, { product, credits }, deadline),
  )
  let response: JsonResponse | undefined
  try {
    const outcomes = await askAll(ctx, product, request, caller, deadline)
    response = responseOf(ctx, product, request, withWayOut(outcomes))
    const charged = chargedCredits(
      product,
      { outcomes, failed: false },
      ctx.settings.CHARGE_UNKNOWN,
    )
    const back = credits - charged
    await finalizeDebit(ctx, run, response, { ...operation, giveBack: back }, deadline)
    recordCredits(ctx, res, product, { charged, back })
    return response
  } catch (error) {
    return await endFailed(ctx, res, { ...operation, product, credits }, error, response)
  }
}

/**
 * Share of a call's time for its checks; the rest allows an outcome of "unknown" to arrive in time.
 */
const CHECK_SHARE = 0.8

/**
 * Runs all checks concurrently; a check without an outcome by the deadline fails the call (504).
 */
async function askAll(
  ctx: Context,
  product: Product,
  request: ProductRequest,
  caller: Caller,
  deadline: Deadline,
): Promise<Outcomes> {
  const { depth } = PRODUCT_PLANS[product]
  const budgetMs = deadline.leftMs() * CHECK_SHARE
  const outcomes: { [C in Check]?: Outcome } = {}
  await Promise.all(
    checksGiven(request.values).map(async (check) => {
      const subject = request.values[check] ?? ''
      const asked = { subject, depth, account: caller.accountId }
      const limits = { waitMs: deadline.leftMs(), budgetMs }
      outcomes[check] = await deadline.first(ctx.live.ask(check, asked, limits))
    }),
  )
  return asOutcomes(outcomes)
}

const WAY_OUT =
  'Send the call with `Prefer: respond-async`: it is then asked again when the host takes it.'

/** Adds to an outcome whose host asked to try later that an asynchronous lookup can wait for it. */
function withWayOut(outcomes: Outcomes): Outcomes {
  const { email } = outcomes
  if (email?.reason !== 'greylisted') return outcomes
  return { ...outcomes, email: { ...email, evidence: { ...email.evidence, try: WAY_OUT } } }
}

/** Safe because each check is run by its own engine, so each outcome is of its own check. */
function asOutcomes(outcomes: { [C in Check]?: Outcome }): Outcomes {
  return outcomes as Outcomes
}

function responseOf(
  ctx: Context,
  product: Product,
  request: ProductRequest,
  outcomes: Outcomes,
): JsonResponse {
  const { result, explain } = assemble(product, outcomes, ctx.scorer)
  return jsonResponse(200, request.explain ? { ...result, explain } : result)
}

/** The response for a test key: from the table of magic values only (decision 19). */
async function answerMagic(
  ctx: Context,
  product: Product,
  request: ProductRequest,
): Promise<JsonResponse> {
  const { depth } = PRODUCT_PLANS[product]
  const outcomes: { [C in Check]?: Outcome } = {}
  let delayMs = 0
  for (const check of checksGiven(request.values)) {
    const answer = magicAnswer(check, request.values[check] ?? '', depth)
    if (answer.kind === 'problem') throw answer.problem
    if (answer.kind === 'slow') delayMs = Math.max(delayMs, answer.delayMs)
    outcomes[check] = answer.outcome
  }
  if (delayMs > 0) await wait(delayMs)
  return responseOf(ctx, product, request, asOutcomes(outcomes))
}
