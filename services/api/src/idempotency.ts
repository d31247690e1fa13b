import { MESSAGES, Problem } from '@plumbline/contract/problem'
import type { Db, Tx } from '@plumbline/db/database'
import {
  claimKey,
  freeKey,
  isKeyHeld,
  storeResponse,
  type IdempotencyScope,
  type IdempotentCall,
  type KeyTerms,
} from '@plumbline/db/idempotency'
import { retryStatement } from '@plumbline/db/retry'
import { isRefundedSql } from '@plumbline/metering/refunded'
import { storedResponseName } from '@plumbline/pipeline/stored-response-name'
import type { InstallationKey } from '@plumbline/pipeline/installation-key'
import type { Request, Response } from 'express'
import { insufficientCredits } from './access.ts'
import type { BalanceCache } from './balance-cache.ts'
import { waitBriefly, type DatabaseTimeLimit } from './database-time-limit.ts'
import type { RateLimit } from './rate-limit.ts'
import { callerOf, requestContextOf } from './request-context.ts'
import type { JsonResponse } from './response.ts'

/** One attempt at a call that takes effect once. */
export interface Run {
  /** Identifies the attempt and its debit; new for each attempt. */
  readonly opKey: string
  /**
   * Stores the response for repeats, in the transaction in which the call takes effect, until the
   * batch that it shows is erased; undefined without an idempotency key. Throws
   * `Problem('unavailable')` if a later attempt has claimed the key.
   */
  readonly keep: ((tx: Tx, response: JsonResponse, batchId?: string) => Promise<void>) | undefined
}

/** Dependencies of storing responses to calls with an idempotency key. */
export interface IdempotencyStore {
  readonly db: Db
  /**
   * Milliseconds after which an attempt that has not ended counts as failed, and its key is free.
   */
  readonly runMs: number
  /** Hashes keys and requests, which are only compared, and encrypts responses. */
  readonly installationKey: InstallationKey
  readonly balances: BalanceCache
  /** How many responses of calls that cost nothing are stored for an account. */
  readonly unpaidResponses: RateLimit
  readonly database: DatabaseTimeLimit
  readonly onError: (error: unknown) => void
}

/**
 * Does the work of a POST once for each `Idempotency-Key` (decision 16): a repeat gets the first
 * 2xx response, another request under the same key 422, a repeat while the first runs 409. Refusals
 * and failures are not stored.
 *
 * @param request determines whether two requests are the same, besides key, account, mode and path
 * @param isFree whether the work is allowed with a balance of zero
 * @param isPaid whether the price of the call pays for storing its response; others are limited
 */
export async function withIdempotency(
  store: IdempotencyStore,
  req: Request,
  res: Response,
  request: () => object,
  work: (run: Run) => Promise<JsonResponse>,
  { isFree = false, isPaid = false }: { isFree?: boolean; isPaid?: boolean } = {},
): Promise<JsonResponse> {
  const { requestId, lacksCredits } = requestContextOf(res)
  const opKey = `call:${requestId}`
  const key = req.headers['idempotency-key']
  if (key === undefined) return await work({ opKey, keep: undefined })

  const call = callOf(store, req, res, { key: String(key), request: request(), opKey })
  const claiming = claimKey(store.db, call, heldBy(store))
  const claim = await store.database.orRefused(claiming).catch((error: unknown) => {
    void freeRefused(store, call, claiming)
    throw error
  })
  switch (claim.kind) {
    case 'mismatch':
      throw new Problem(
        'unprocessable',
        'This Idempotency-Key came with another request before; use a new key for a new request.',
      )
    case 'running':
      throw new Problem(
        'conflict',
        'The first call with this Idempotency-Key is still running; ask again.',
        {
          retryAfterSeconds: 1,
        },
      )
    case 'erased':
      throw new Problem(
        'conflict',
        'The response stored for this Idempotency-Key has been erased; use a new key to send the request again.',
      )
    case 'answered': {
      const { status, location } = claim.answer
      const body = readBody(store, call, claim.answer.body)
      return { status, body, replayed: true, ...(location === null ? {} : { location }) }
    }
    case 'claimed':
      return await workAndKeep(store, call, async (run) => {
        // The call that it was to repeat has failed since, and may have been refunded.
        if (lacksCredits && !isFree) await refuseEmpty(store, call.accountId)
        if (!isPaid) await refuseBeyond(store, call.accountId)
        return await work(run)
      })
  }
}

/** Whether a call would be a repeat, so that it gets a stored response. */
export async function isRepeat(
  store: Pick<IdempotencyStore, 'db' | 'runMs' | 'installationKey'>,
  { key, ...scope }: IdempotencyScope,
): Promise<boolean> {
  const kept = keptKey(store.installationKey, key)
  return await isKeyHeld(store.db, { ...scope, key: kept }, heldBy(store))
}

/** Which attempts hold their key: those of the last `runMs` whose debit was not refunded. */
function heldBy({ runMs }: Pick<IdempotencyStore, 'runMs'>): KeyTerms {
  return { runMs, isRefunded: isRefundedSql('held') }
}

/**
 * Frees a key whose call was refused while the key was being claimed, or because the claim failed:
 * it may have been made if only its reply was lost.
 */
async function freeRefused(
  { db, onError }: IdempotencyStore,
  call: IdempotentCall,
  claiming: ReturnType<typeof claimKey>,
): Promise<void> {
  try {
    const claim = await claiming.catch(() => undefined)
    if (claim !== undefined && claim.kind !== 'claimed') return
    await retryStatement(() => freeKey(db, call))
  } catch (error) {
    onError(error)
  }
}

async function workAndKeep(
  store: IdempotencyStore,
  call: IdempotentCall,
  work: (run: Run) => Promise<JsonResponse>,
): Promise<JsonResponse> {
  let kept = false
  const keep = async (tx: Tx, response: JsonResponse, batchId?: string): Promise<void> => {
    const { status, location = null } = response
    const body = store.installationKey.encrypt(response.body, storedResponseName(call))
    if (!(await storeResponse(tx, call, { status, body, location, batchId }))) {
      throw new Problem('unavailable', MESSAGES.timeout, {
        retryAfterSeconds: 1,
      })
    }
    kept = true
  }
  try {
    const response = await work({ opKey: call.opKey, keep })
    if (!kept) {
      const keeping = store.db.kysely.transaction().execute((tx) => keep(tx, response))
      await store.database.orRefused(keeping)
    }
    return response
  } catch (error) {
    await waitBriefly(freeKey(store.db, call).catch(store.onError))
    throw error
  }
}

function readBody(
  { installationKey }: IdempotencyStore,
  call: IdempotentCall,
  kept: string,
): string {
  const body = installationKey.decrypt(kept, storedResponseName(call))
  if (body === undefined) throw new Error('a stored response cannot be read')
  return body
}

async function refuseEmpty(
  { balances, database }: IdempotencyStore,
  accountId: string,
): Promise<void> {
  const credits = await database.orRefused(balances.now(accountId))
  if (credits <= 0) throw insufficientCredits()
}

/** Refuses to store the response of one more call that costs nothing. */
async function refuseBeyond(
  { unpaidResponses }: IdempotencyStore,
  accountId: string,
): Promise<void> {
  const { granted, burst, retryMs } = await unpaidResponses.take(accountId)
  if (granted) return
  throw new Problem(
    'too_many_requests',
    `The account has used ${burst} idempotency keys in a day for calls that cost nothing; wait, or send such calls without one.`,
    { limit: 'unpaid_responses', retryAfterSeconds: Math.ceil(retryMs / 1_000) },
  )
}

function callOf(
  { installationKey }: IdempotencyStore,
  req: Request,
  res: Response,
  { key, request, opKey }: { key: string; request: object; opKey: string },
): IdempotentCall {
  const { accountId, mode } = callerOf(res)
  const said = installationKey.digest(JSON.stringify(request))
  return {
    accountId,
    mode,
    path: req.path,
    key: keptKey(installationKey, key),
    fingerprint: Buffer.from(said, 'base64url'),
    opKey,
  }
}

/** The hash under which an idempotency key is stored: clients may build keys from personal data. */
function keptKey(installationKey: InstallationKey, key: string): string {
  return installationKey.digest(`idempotency-key:${key}`)
}
