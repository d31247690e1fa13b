import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Counters } from '../counters.ts'
import { listenEverywhere } from '../registry/rdap.ts'
import type { HttpServers } from '../registry/rdap.ts'
import type { World } from '../world.ts'
import { hlrLookups } from './hlr-lookups.ts'

/** Keys that every provider of the world takes. */
export const HLR_KEY = 'sim-key'
export const HLR_SECRET = 'sim-secret'

const BODY_BYTES = 1024 * 1024

/** A request to a provider, whole. */
export interface HlrRequest {
  readonly method: string
  /** Path without the query. */
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

export interface HlrReply {
  readonly status: number
  readonly body: unknown
  readonly headers?: Record<string, string>
}

/** What a provider needs to answer. */
export interface HlrContext {
  readonly world: World
  readonly counters: Counters
  /** Notes a paid query. */
  readonly bought: (number: string, costMilli: number) => void
  /** True once for each number that its provider puts off the first time. */
  readonly putOff: (number: string) => boolean
}

/** Answers the requests of its own protocol; undefined for any other path. */
export type HlrProvider = (context: HlrContext, request: HlrRequest) => HlrReply | undefined

const PROVIDERS: readonly HlrProvider[] = [hlrLookups]

/** HLR providers on 127.0.0.1, told apart by their paths. */
export async function startHlr(
  world: World,
  counters: Counters,
  port: number,
): Promise<HttpServers> {
  const putOff = new Set<string>()
  const context: HlrContext = {
    world,
    counters,
    bought: (number, costMilli) => {
      const known = counters.hlr.perNumber.get(number) ?? { queries: 0, costMilli: 0 }
      known.queries++
      known.costMilli += costMilli
      counters.hlr.perNumber.set(number, known)
      counters.hlr.costMilli += costMilli
    },
    putOff: (number) => {
      if (putOff.has(number)) return false
      putOff.add(number)
      return true
    },
  }
  const handler: RequestListener = (request, response) => {
    void readBody(request).then((body) => answer(context, request, body, response))
  }
  return listenEverywhere(new Map([['127.0.0.1', handler]]), port)
}

function answer(
  context: HlrContext,
  request: IncomingMessage,
  body: string,
  response: ServerResponse,
): void {
  const url = new URL(request.url ?? '/', 'http://hlr')
  const whole = {
    method: request.method ?? '',
    path: url.pathname,
    query: url.searchParams,
    headers: request.headers,
    body,
  }
  context.counters.hlr.requests++
  let reply: HlrReply | undefined
  for (const provider of PROVIDERS) reply ??= provider(context, whole)
  reply ??= { status: 404, body: { error: 'no such service' } }
  if (reply.status >= 400) context.counters.hlr.refused++
  response
    .writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers })
    .end(JSON.stringify(reply.body))
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of request) {
      if (!Buffer.isBuffer(chunk)) continue
      size += chunk.length
      if (size > BODY_BYTES) break
      chunks.push(chunk)
    }
  } catch {
    // A client that hung up has no use for an answer.
  }
  return Buffer.concat(chunks).toString('utf8')
}
