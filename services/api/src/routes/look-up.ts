import { magicAnswer } from '@plumbline/contract/magic'
import type { Outcome } from '@plumbline/contract/outcome'
import { MESSAGES, Problem } from '@plumbline/contract/problem'
import {
  CHECKS,
  priceCredits,
  PRODUCT_PLANS,
  type Check,
  type Product,
} from '@plumbline/contract/products'
import { readRequest, type ProductRequest } from '@plumbline/contract/requests'
import type { Outcomes } from '@plumbline/contract/score'
import type { Ended } from '@plumbline/metering/answer'
import { assemble } from '@plumbline/pipeline/assemble'
import { chargedCredits } from '@plumbline/pipeline/record'
import type { Response } from 'express'
import { setTimeout as wait } from 'node:timers/promises'
import { admit, insufficientCredits, showBalance } from '../access.ts'
import { readJson } from '../body.ts'
import type { Context } from '../context.ts'
import { startDeadline, type Deadline } from '../deadline.ts'
import { callerOf, requestContextOf, type Caller } from '../request-context.ts'
import { refuseKeyShape } from '../idempotency-key.ts'
import { finalizeInBackground } from '../charge.ts'
import { withIdempotency, type Run } from '../idempotency.ts'
import { refuseQuery } from '../query.ts'
import { jsonResponse, sendResponse, type JsonResponse } from '../response.ts'
import type { Handler } from './handler.ts'

/** `POST /v1/<product>`: asks a product's checks about the values of the body (spec.md section 4). */
export function lookUp(ctx: Context, product: Product): Handler {
  return async (req, res) => {
    const caller = await admit(ctx.access, req, res, { spends: true })
    refuseQuery(req)
    const body = await readJson(req, res, ctx.settings)
    const request = readRequest(product, body)
    refuseKeyShape(req)
    const response = await withIdempotency(
      ctx.idempotency,
      req,
      res,
      () => sameRequest(request),
      (run) =>
        caller.mode === 'test'
          ? rehearse(ctx, product, request)
          : answerAndCharge(ctx, res, product, request, run),
    )
    if (caller.mode === 'test') await showBalance(ctx.access, res, false)
    sendResponse(res, response)
  }
}

/** What makes two requests of a product the same, whatever the order of their fields. */
function sameRequest(request: ProductRequest): object {
  return [...CHECKS.map((check) => request.values[check] ?? null), request.explain]
}

/** Takes the price, asks, answers; what fails on our side is given back (decision 12). */
async function answerAndCharge(
  ctx: Context,
  res: Response,
  product: Product,
  request: ProductRequest,
  run: Run,
): Promise<JsonResponse> {
  const caller = callerOf(res)
  const credits = priceCredits(product, checksIn(request))
  const operation = { accountId: caller.accountId, opKey: run.opKey }
  using deadline = startDeadline(ctx.settings.CALL_TIMEOUT_SECONDS * 1_000)
  await take(ctx, res, operation, credits, deadline)
  try {
    const outcomes = await askAll(ctx, product, request, caller, deadline)
    const response = responseOf(ctx, product, request, outcomes)
    const charged = chargedCredits(
      product,
      { outcomes, failed: false },
      ctx.settings.CHARGE_UNKNOWN,
    )
    await finalizeDebit(ctx, run, response, { ...operation, giveBack: credits - charged })
    move(ctx, res, { charged, back: credits - charged })
    return response
  } catch (error) {
    // What cannot be given back now is given back by the sweep.
    await ctx.metering.refund({ ...operation, reason: reasonOf(error) }).catch(ctx.onError)
    move(ctx, res, { charged: 0, back: credits })
    throw error
  }
}

async function take(
  ctx: Context,
  res: Response,
  operation: { accountId: string; opKey: string },
  credits: number,
  deadline: Deadline,
): Promise<void> {
  const context = requestContextOf(res)
  const debiting = ctx.metering.debit({ ...operation, credits })
  const debit = await deadline.first(debiting, () => {
    // It may still be taken, and is then given back.
    debiting
      .then((late) =>
        late.granted ? ctx.metering.refund({ ...operation, reason: 'timeout' }) : null,
      )
      .catch(ctx.onError)
  })
  const available = debit.granted ? debit.remaining : debit.available
  context.creditsRemaining = available
  ctx.access.balances.note(operation.accountId, available)
  if (!debit.granted) throw insufficientCredits()
  context.creditsCharged = credits
}

/**
 * Makes the debit final: with the kept answer in one transaction, or behind the answer where none is kept.
 * Nothing can fail between that and the sending, and how slowly a client reads is no matter of its price.
 */
async function finalizeDebit(
  ctx: Context,
  run: Run,
  response: JsonResponse,
  answered: { accountId: string; opKey: string; giveBack: number },
): Promise<void> {
  const { keep } = run
  if (keep !== undefined) {
    await ctx.db.kysely.transaction().execute(async (tx) => {
      await keep(tx, response)
      refuseRefunded(await ctx.metering.answer(tx, answered))
    })
  } else if (answered.giveBack > 0) {
    refuseRefunded(await ctx.metering.answered(answered))
  } else {
    const { metering, onError } = ctx
    // A process that dies before the note is written gives the credits back, for an answer that few have got.
    void finalizeInBackground(
      { metering, timeoutMs: ctx.settings.DEBIT_TIMEOUT_SECONDS * 1_000, onError },
      answered,
    )
  }
}

/** What was given back for its age must not be answered any more. */
function refuseRefunded({ state }: Ended): void {
  if (state === 'answered') return
  throw new Problem('unavailable', MESSAGES.timeout, { retryAfterSeconds: 1 })
}

function move(ctx: Context, res: Response, credits: { charged: number; back: number }): void {
  const context = requestContextOf(res)
  context.creditsCharged = credits.charged
  if (credits.back === 0 || context.creditsRemaining === undefined) return
  context.creditsRemaining += credits.back
  ctx.access.balances.note(callerOf(res).accountId, context.creditsRemaining)
}

function reasonOf(error: unknown): string {
  return error instanceof Problem ? error.code : 'internal'
}

function checksIn(request: ProductRequest): readonly Check[] {
  return CHECKS.filter((check) => request.values[check] !== undefined)
}

/** How much of a call's time its engines have; what is left brings a late "unknown" home as an answer. */
const ENGINE_SHARE = 0.8

/** Asks all checks at once; whoever is not there by the deadline of the call fails it (504). */
async function askAll(
  ctx: Context,
  product: Product,
  request: ProductRequest,
  caller: Caller,
  deadline: Deadline,
): Promise<Outcomes> {
  const { depth } = PRODUCT_PLANS[product]
  const budgetMs = deadline.leftMs() * ENGINE_SHARE
  const outcomes: { [C in Check]?: Outcome } = {}
  await Promise.all(
    checksIn(request).map(async (check) => {
      const subject = request.values[check] ?? ''
      const asked = { subject, depth, tenant: caller.accountId }
      const limits = { waitMs: deadline.leftMs(), budgetMs }
      outcomes[check] = await deadline.first(ctx.live.ask(check, asked, limits))
    }),
  )
  return asOutcomes(outcomes)
}

/** Each check was asked of its own engine, so each outcome is of its own check. */
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

/** A test key's answer: from the table of magic values alone (decision 19). */
async function rehearse(
  ctx: Context,
  product: Product,
  request: ProductRequest,
): Promise<JsonResponse> {
  const { depth } = PRODUCT_PLANS[product]
  const outcomes: { [C in Check]?: Outcome } = {}
  let delayMs = 0
  for (const check of checksIn(request)) {
    const answer = magicAnswer(check, request.values[check] ?? '', depth)
    if (answer.kind === 'problem') throw answer.problem
    if (answer.kind === 'slow') delayMs = Math.max(delayMs, answer.delayMs)
    outcomes[check] = answer.outcome
  }
  if (delayMs > 0) await wait(delayMs)
  return responseOf(ctx, product, request, asOutcomes(outcomes))
}
