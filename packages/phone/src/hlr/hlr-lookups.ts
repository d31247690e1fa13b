import { createHmac } from 'node:crypto'
import { fieldsOf, flagOf, textOf } from './json.ts'
import {
  failure,
  type HlrAdapter,
  type HlrAnswer,
  type HlrQuery,
  isForNumber,
  verdict,
} from './provider.ts'
import { requestJson, urlOf } from './request.ts'

/** Its base URL. */
export const HLR_LOOKUPS_URL = 'https://www.hlr-lookups.com/api/v2'
const PATH = '/hlr-lookup'

/** Replies of the provider's gateway when too many connections are open: nothing was looked up. */
const THROTTLES = [502, 504]

const CONNECTIVITY = {
  CONNECTED: 'connected',
  ABSENT: 'absent',
  INVALID_MSISDN: 'unknown_subscriber',
  UNDETERMINED: 'undetermined',
} as const

/**
 * hlr-lookups.com, API version 2: one number a request, signed with HMAC-SHA256 over path, time,
 * method and body. Source: hlr-lookups.com/en/api-docs and its PHP SDK 2.0.0, November 2026.
 */
export const hlrLookups: HlrAdapter = (query) =>
  Promise.all(query.numbers.map((number) => lookupOne(query, number)))

async function lookupOne(query: HlrQuery, number: string): Promise<HlrAnswer> {
  const body = JSON.stringify({ msisdn: number })
  const reply = await requestJson(query, {
    method: 'POST',
    url: urlOf(query.account.url, HLR_LOOKUPS_URL, PATH),
    headers: {
      'content-type': 'application/json',
      ...signatureOf(query, 'POST', PATH, body),
    },
    body,
    throttles: THROTTLES,
  })
  if (reply.kind === 'failed') return reply
  if (reply.status !== 200) return failure('protocol', false, `status ${reply.status}`)
  return read(number, reply.body)
}

/** The headers that sign a request. */
export function signatureOf(
  { account, nowMs }: Pick<HlrQuery, 'account' | 'nowMs'>,
  method: 'GET' | 'POST',
  path: string,
  body = '',
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(nowMs / 1_000))
  const signature = createHmac('sha256', account.secret ?? '')
    .update(`${path}${timestamp}${method}${body}`)
    .digest('hex')
  return {
    'x-digest-key': account.key,
    'x-digest-timestamp': timestamp,
    'x-digest-signature': signature,
  }
}

function read(number: string, body: unknown): HlrAnswer {
  const fields = fieldsOf(body)
  if (!isForNumber(number, textOf(fields['msisdn']))) {
    return failure('protocol', true, 'a reply about another number')
  }
  const status = textOf(fields['connectivity_status'])
  if (status === null || !isConnectivity(status)) {
    return failure('protocol', true, `connectivity_status ${String(status)}`)
  }
  const ported = flagOf(fields['is_ported'])
  const current = ported === true ? 'ported' : 'original'
  return verdict(CONNECTIVITY[status], status, {
    // Of a ported number not the original network, which it has left.
    carrier: textOf(fields[`${current}_network_name`]),
    carrierCountry:
      textOf(fields[`${current}_country_code`]) ?? textOf(fields['original_country_code']),
    ported,
    roaming: flagOf(fields['is_roaming']),
    id: textOf(fields['id']),
  })
}

function isConnectivity(status: string): status is keyof typeof CONNECTIVITY {
  return Object.hasOwn(CONNECTIVITY, status)
}
