import { MESSAGES, Problem } from '@plumbline/contract/problem'
import type { Db, Tx } from '@plumbline/db/database'
import { claimKey, freeKey, keepAnswer, type IdempotentCall } from '@plumbline/db/idempotency'
import type { InstallationKey } from '@plumbline/pipeline/installation-key'
import type { Request, Response } from 'express'
import { insufficientCredits } from './admit.ts'
import type { Balances } from './balances.ts'
import { callerOf, exchangeOf } from './exchange.ts'
import type { Reply } from './reply.ts'

/** One run of a call that takes effect once. */
export interface Run {
  /** Names the run and its debit; new for each run. */
  readonly opKey: string
  /**
   * Keeps the answer for repeats, in the transaction in which the call takes effect; undefined without
   * an idempotency key. Throws `Problem('unavailable')` where the key was lost to a later run.
   */
  readonly keep: ((tx: Tx, reply: Reply) => Promise<void>) | undefined
}

/** What keeps the answers of calls with an idempotency key. */
export interface OnceStore {
  readonly db: Db
  /** After this long a run that has not ended is taken for dead, and its key is free. */
  readonly runMs: number
  /** Hides keys and requests, of which only whether they are the same is to be known. */
  readonly installationKey: InstallationKey
  readonly balances: Balances
  readonly onError: (error: unknown) => void
}

/**
 * Does the work of a POST once for each `Idempotency-Key` (decision 16): a repeat gets the first 2xx answer,
 * another request under the same key 422, a repeat while the first runs 409. Refusals and failures are not kept.
 * @param request what makes two requests the same, apart from key, account, mode and path
 */
export async function once(
  store: OnceStore,
  req: Request,
  res: Response,
  request: () => object,
  work: (run: Run) => Promise<Reply>,
): Promise<Reply> {
  const { requestId, lacksCredits } = exchangeOf(res)
  const opKey = `call:${requestId}`
  const key = req.headers['idempotency-key']
  if (key === undefined) return await work({ opKey, keep: undefined })

  const call = callOf(store, req, res, { key: String(key), request: request(), opKey })
  const claim = await claimKey(store.db, call, { runMs: store.runMs })
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
    case 'answered': {
      const { status, body, location } = claim.answer
      return { status, body, replayed: true, ...(location === null ? {} : { location }) }
    }
    case 'claimed':
      return await workAndKeep(store, call, async (run) => {
        // The call that it was to repeat has failed since, and may have given its credits back.
        if (lacksCredits) await refuseEmpty(store, call.accountId)
        return await work(run)
      })
  }
}

async function workAndKeep(
  store: OnceStore,
  call: IdempotentCall,
  work: (run: Run) => Promise<Reply>,
): Promise<Reply> {
  let kept = false
  const keep = async (tx: Tx, reply: Reply): Promise<void> => {
    const { status, body, location = null } = reply
    if (!(await keepAnswer(tx, call, { status, body, location }))) {
      throw new Problem('unavailable', MESSAGES.timeout, {
        retryAfterSeconds: 1,
      })
    }
    kept = true
  }
  try {
    const reply = await work({ opKey: call.opKey, keep })
    if (!kept) await store.db.kysely.transaction().execute((tx) => keep(tx, reply))
    return reply
  } catch (error) {
    await freeKey(store.db, call).catch(store.onError)
    throw error
  }
}

async function refuseEmpty({ balances }: OnceStore, accountId: string): Promise<void> {
  if ((await balances.now(accountId)) <= 0) throw insufficientCredits()
}

function callOf(
  { installationKey }: OnceStore,
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

/** The form in which an idempotency key is kept: clients make them of what their records hold. */
export function keptKey(installationKey: InstallationKey, key: string): string {
  return installationKey.digest(`idempotency-key:${key}`)
}
