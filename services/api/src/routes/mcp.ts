import type { RequestListener } from 'node:http'
import { createClient } from '@plumbline/client/client'
import { MCP_LIMITS } from '@plumbline/contract/mcp'
import { Problem } from '@plumbline/contract/problem'
import { answerMessage, type HttpResponse } from '@plumbline/mcp/http'
import { loadSdk, SDK_MISSING } from '@plumbline/mcp/sdk'
import type { Response } from 'express'
import { admit, bearer, invalidKey } from '../access.ts'
import { readJson } from '../body.ts'
import { refuseForeignSite } from '../browser.ts'
import { clientGone } from '../client-gone.ts'
import { createConcurrencyLimit } from '../concurrency-limit.ts'
import type { Context } from '../context.ts'
import { headersOf } from '../fetch-headers.ts'
import { createInnerFetch } from '../inner-fetch.ts'
import { refuseQuery } from '../query.ts'
import { callerOf } from '../request-context.ts'
import { headersWith, isGone } from '../response.ts'
import type { Handler } from './handler.ts'

/** Fields and items of one message: enough for a batch of 1,000 records with their fields. */
const MESSAGE_KEYS = MCP_LIMITS.records * 6 + 100

/**
 * `POST /mcp`: one message of the Model Context Protocol (streamable HTTP of 2025-11-25), by key.
 * Stateless: no session or stream is kept open. Each lookup by a tool is a separate call with the
 * same key.
 * @param app the app itself, which tools call
 */
export function handleMcp(ctx: Context, app: RequestListener): Handler {
  const innerFetch = createInnerFetch(app)
  const limit = createConcurrencyLimit(
    MCP_LIMITS.callsAtOnce,
    (count) =>
      `This account has ${count} messages under way at once, which is the limit; wait for answers.`,
    { retryAfterSeconds: 1 },
  )
  const bounds = {
    ...ctx.settings,
    BODY_LIMIT_BYTES: MCP_LIMITS.messageBytes,
    JSON_KEYS_LIMIT: MESSAGE_KEYS,
  }
  return async (req, res) => {
    refuseForeignSite(req, ctx.settings.PUBLIC_URL)
    // A session cookie is not accepted, so that no page can make a browser call tools.
    const key = bearer(req.headers.authorization)
    if (key === undefined) throw invalidKey()
    await ctx.database.orRefused(
      admit(ctx.access, req, res, { spends: false, hasOwnLimit: true }),
      { isCached: true },
    )
    refuseQuery(req)
    using _ = limit.acquire(callerOf(res).accountId)
    const body = await readJson(req, res, bounds)
    if (typeof body !== 'object' || body === null || Array.isArray(body)) {
      throw new Problem('bad_request', 'Send one JSON-RPC message as an object.')
    }
    const sdk = await loadSdk()
    if (sdk === undefined) throw new Problem('unavailable', SDK_MISSING)
    const client = createClient({
      baseUrl: 'http://localhost',
      key,
      // A model gets the refusal at once, and retries by itself.
      retries: 0,
      timeoutMs: (MCP_LIMITS.waitSeconds + ctx.settings.CALL_TIMEOUT_SECONDS) * 1_000,
      fetch: innerFetch(req.ip ?? ''),
    })
    const { onError } = ctx
    const { signal } = clientGone(res)
    try {
      const message = { headers: headersOf(req), body, signal }
      send(res, await answerMessage(sdk, { client, onError }, message))
    } catch (error) {
      if (!signal.aborted && !isGone(error, res)) throw error
    }
  }
}

function send(res: Response, { status, type, body }: HttpResponse): void {
  if (res.headersSent || res.destroyed) return
  const headers = headersWith(res, {
    ...(type === undefined ? {} : { 'Content-Type': type }),
    'Content-Length': String(Buffer.byteLength(body)),
  })
  res.writeHead(status, headers)
  res.end(body)
}
