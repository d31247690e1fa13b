import type { PhoneFacts } from '@plumbline/contract/outcome'
import { type Fields, fieldsOf, flagOf, numberOf, textOf } from './json.ts'
import {
  failure,
  type HlrAdapter,
  type HlrAnswer,
  type HlrQuery,
  type HlrVerdict,
  speaksOf,
  verdict,
} from './provider.ts'
import { basicAuth, requestJson, urlOf } from './request.ts'

const USUAL_URL = 'https://lookups.twilio.com'
const FIELDS = 'line_type_intelligence,line_status'

/** Source: twilio.com/docs/lookup/v2-api/line-status. */
const LINE_STATUS: Readonly<Record<string, HlrVerdict['connectivity']>> = {
  active: 'connected',
  reachable: 'connected',
  unreachable: 'absent',
  inactive: 'unknown_subscriber',
}

/** Source: twilio.com/docs/lookup/v2-api/line-type-intelligence. */
const LINE_TYPES: Readonly<Record<string, PhoneFacts['lineType']>> = {
  mobile: 'mobile',
  landline: 'landline',
  fixedVoip: 'voip',
  nonFixedVoip: 'voip',
}

/**
 * Twilio Lookup v2 with line type and line status: one number a request, account SID and token.
 * A package that fails says so inside of itself, under status 200. Source: twilio.com/docs/lookup/v2-api, November 2026.
 */
export const twilio: HlrAdapter = (query) =>
  Promise.all(query.numbers.map((number) => lookupOne(query, number)))

async function lookupOne(query: HlrQuery, number: string): Promise<HlrAnswer> {
  const { account } = query
  const path = `/v2/PhoneNumbers/${encodeURIComponent(number)}?Fields=${FIELDS}`
  const reply = await requestJson(query, {
    method: 'GET',
    url: urlOf(account.url, USUAL_URL, path),
    headers: { authorization: basicAuth(account.key, account.secret ?? '') },
  })
  if (reply.kind === 'failed') return reply
  const body = fieldsOf(reply.body)
  const code = numberOf(body['code'])
  if (reply.status === 404) return verdict('undetermined', `not found ${code ?? ''}`.trim())
  if (reply.status !== 200) {
    return failure('protocol', false, `status ${reply.status}, code ${code ?? 'none'}`)
  }
  return read(number, body)
}

function read(number: string, body: Fields): HlrAnswer {
  if (!speaksOf(number, textOf(body['phone_number']))) {
    return failure('protocol', true, 'a reply about another number')
  }
  const valid = flagOf(body['valid'])
  if (valid === null) return failure('protocol', true, 'a reply without valid')
  const line = fieldsOf(body['line_type_intelligence'])
  const state = fieldsOf(body['line_status'])
  const status = textOf(state['status'])
  const error = numberOf(state['error_code'])
  const words = status ?? (error === null ? 'unknown' : `error ${error}`)
  const connectivity = LINE_STATUS[(status ?? '').toLowerCase()] ?? 'undetermined'
  return verdict(valid ? connectivity : 'unknown_subscriber', valid ? words : 'invalid', {
    lineType: LINE_TYPES[textOf(line['type']) ?? ''] ?? null,
    carrier: textOf(line['carrier_name']),
    carrierCountry: textOf(body['country_code']),
  })
}
