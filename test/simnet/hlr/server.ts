import type { KeyObject } from 'node:crypto'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Counters } from '../counters.ts'
import { createRandom } from '../random.ts'
import { listenEverywhere } from '../http.ts'
import type { Listeners } from '../one-port.ts'
import type { World } from '../world.ts'
import { hlrLookups } from './hlr-lookups.ts'
import { infobip } from './infobip.ts'
import { messente } from './messente.ts'
import type { HlrContext, HlrProvider, HlrReply } from './protocol.ts'
import { twilio } from './twilio.ts'
import { vonage } from './vonage.ts'

const BODY_BYTES = 1024 * 1024

/** Faults of the providers: numbers of faulty requests per thousand, chosen by the seed. */
export interface HlrFaults {
  readonly delayMs?: number
  /** The lookup is done and charged, but the connection is cut before the reply. */
  readonly lostPerMille?: number
  /** The reply is 500, and nothing was done. */
  readonly errorPerMille?: number
  /** The reply is 200 with a body that is not JSON. */
  readonly garbagePerMille?: number
  /** The request is accepted and never answered. */
  readonly silentPerMille?: number
  readonly outOfCredit?: boolean
}

const PROVIDERS: readonly HlrProvider[] = [hlrLookups, infobip, twilio, vonage, messente]

/** Starts all HLR providers on 127.0.0.1, distinguished by the path of a request. */
export async function startHlr(
  world: World,
  counters: Counters,
  port: number,
  faults: HlrFaults,
  tokenKey?: KeyObject,
): Promise<Listeners> {
  const random = createRandom(world.seed, 'hlr faults')
  const throttled = new Set<string>()
  const context: HlrContext = {
    world,
    counters,
    outOfCredit: faults.outOfCredit === true,
    tokenKey,
    bought: (number, costMilli) => {
      const known = counters.hlr.perNumber.get(number) ?? { queries: 0, costMilli: 0 }
      known.queries++
      known.costMilli += costMilli
      counters.hlr.perNumber.set(number, known)
      counters.hlr.costMilli += costMilli
    },
    throttlesFirst: (number) => {
      if (throttled.has(number)) return false
      throttled.add(number)
      return true
    },
  }
  const handler: RequestListener = (request, response) => {
    void readBody(request).then((body) => {
      const act = (): void =>
        sendOrFail(faults, random.int(1000), response, () => answer(context, request, body))
      if (faults.delayMs === undefined) act()
      else setTimeout(act, faults.delayMs)
    })
  }
  return listenEverywhere(new Map([['127.0.0.1', handler]]), port)
}

/** Sends the reply, or the fault for this random number of 0 to 999. */
function sendOrFail(
  faults: HlrFaults,
  draw: number,
  response: ServerResponse,
  work: () => HlrReply,
): void {
  let left = draw
  const hit = (perMille: number | undefined): boolean => {
    left -= perMille ?? 0
    return left < 0
  }
  if (hit(faults.errorPerMille)) {
    response.writeHead(500).end('Internal Server Error')
    return
  }
  if (hit(faults.silentPerMille)) return
  const reply = work()
  if (hit(faults.lostPerMille)) response.destroy()
  else if (hit(faults.garbagePerMille)) response.writeHead(200).end('<html>')
  else {
    const headers = { 'content-type': 'application/json', ...reply.headers }
    response.writeHead(reply.status, headers).end(JSON.stringify(reply.body))
  }
}

function answer(context: HlrContext, request: IncomingMessage, body: string): HlrReply {
  const url = new URL(request.url ?? '/', 'http://hlr')
  const { method = '', headers } = request
  const whole = { method, path: url.pathname, query: url.searchParams, headers, body }
  context.counters.hlr.requests++
  let reply: HlrReply | undefined
  for (const provider of PROVIDERS) reply ??= provider(context, whole)
  reply ??= { status: 404, body: { error: 'no such service' } }
  if (reply.status >= 400) context.counters.hlr.refused++
  return reply
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
    // The client has closed the connection, so no reply can be sent.
  }
  return Buffer.concat(chunks).toString('utf8')
}
