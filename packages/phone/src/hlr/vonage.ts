import type { PhoneFacts } from '@plumbline/contract/outcome'
import { fieldsOf, type Fields, numberOf, textOf } from './json.ts'
import {
  failure,
  type HlrAdapter,
  type HlrAnswer,
  type HlrQuery,
  type HlrResult,
  isForNumber,
  verdict,
} from './provider.ts'
import { basicAuth, requestJson, urlOf } from './request.ts'

/** Its base URL. */
export const VONAGE_URL = 'https://api.nexmo.com'

const REACHABLE: ReadonlyMap<string, HlrResult['connectivity']> = new Map([
  ['reachable', 'connected'],
  ['absent', 'absent'],
  ['undeliverable', 'undetermined'],
  ['bad_number', 'unknown_subscriber'],
  ['blacklisted', 'undetermined'],
  ['unknown', 'undetermined'],
])

/** Source: developer.vonage.com, Number Insight, `network_type`. */
export const NETWORK_TYPES: ReadonlyMap<string, PhoneFacts['lineType']> = new Map([
  ['mobile', 'mobile'],
  ['landline', 'landline'],
  ['landline_premium', 'unknown'],
  ['landline_tollfree', 'unknown'],
  ['virtual', 'voip'],
  ['pager', 'unknown'],
])

/**
 * Vonage Number Insight Advanced, synchronous: one number a request. Discontinued on 2027-02-04.
 * Errors come with HTTP status 200 in `status`. Source: developer.vonage.com, Number Insight,
 * November 2026.
 */
export const vonage: HlrAdapter = (query) =>
  Promise.all(query.numbers.map((number) => lookupOne(query, number)))

async function lookupOne(query: HlrQuery, number: string): Promise<HlrAnswer> {
  const { account } = query
  const reply = await requestJson(query, {
    method: 'GET',
    url: urlOf(account.url, VONAGE_URL, `/ni/advanced/json?number=${number.slice(1)}`),
    headers: { authorization: basicAuth(account) },
  })
  if (reply.kind === 'failed') return reply
  if (reply.status !== 200) return failure('protocol', false, `status ${reply.status}`)
  return read(number, fieldsOf(reply.body))
}

function read(number: string, body: Fields): HlrAnswer {
  if (!isForNumber(number, textOf(body['international_format_number']))) {
    return failure('protocol', true, 'a reply about another number')
  }
  const status = numberOf(body['status'])
  const words = textOf(body['status_message']) ?? textOf(body['error_text']) ?? `status ${status}`
  // The reason of a refusal is shown to all callers and logged, so their text, which may hold key
  // or number, is not used.
  const refused = `status ${status}`
  switch (status) {
    // 43 to 45: the live query failed, the rest of the reply is valid.
    case 0:
    case 43:
    case 44:
    case 45:
      return found(body, status)
    case 1:
      return failure('throttled', false, words)
    case 3:
      return verdict('undetermined', words)
    case 4:
    case 19:
      return failure('credentials', false, refused)
    case 9:
      return failure('credit', false, refused)
    case 5:
    case 999:
      return failure('server', true, words)
    default:
      return failure('protocol', true, words)
  }
}

function found(body: Fields, status: number): HlrAnswer {
  const validity = textOf(body['valid_number'])
  const reachable = textOf(body['reachable']) ?? 'unknown'
  const carrier = fieldsOf(body['current_carrier'])
  const dead = validity === 'not_valid' || validity === 'inferred_not_valid'
  const live = status === 0 ? (REACHABLE.get(reachable) ?? 'undetermined') : 'undetermined'
  return verdict(dead ? 'unknown_subscriber' : live, dead ? validity : reachable, {
    lineType: NETWORK_TYPES.get(textOf(carrier['network_type']) ?? '') ?? null,
    carrier: textOf(carrier['name']),
    carrierCountry: textOf(carrier['country']),
    ported: portedOf(textOf(body['ported'])),
    roaming: roamingOf(body['roaming']),
    id: textOf(body['request_id']),
  })
}

/** Vonage's assumptions are not reported as facts. */
function portedOf(ported: string | null): boolean | null {
  if (ported === 'ported') return true
  return ported === 'not_ported' ? false : null
}

/** An object, or a plain string. */
function roamingOf(roaming: unknown): boolean | null {
  const status = textOf(roaming) ?? textOf(fieldsOf(roaming)['status'])
  if (status === 'roaming') return true
  return status === 'not_roaming' ? false : null
}
