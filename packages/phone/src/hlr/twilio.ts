import type { PhoneFacts } from '@plumbline/contract/outcome'
import { type Fields, fieldsOf, flagOf, listOf, numberOf, textOf } from './json.ts'
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
export const TWILIO_URL = 'https://lookups.twilio.com'
const FIELDS = ['line_type_intelligence', 'line_status']

/** Source: twilio.com/docs/lookup/v2-api/line-status. */
const LINE_STATUS: ReadonlyMap<string, HlrResult['connectivity']> = new Map([
  ['active', 'connected'],
  ['reachable', 'connected'],
  ['unreachable', 'absent'],
  ['inactive', 'unknown_subscriber'],
])

/** Source: twilio.com/docs/lookup/v2-api/line-type-intelligence. */
const LINE_TYPES: ReadonlyMap<string, PhoneFacts['lineType']> = new Map([
  ['mobile', 'mobile'],
  ['landline', 'landline'],
  ['fixedVoip', 'voip'],
  ['nonFixedVoip', 'voip'],
])

/** Throttled, and no such number. Source: twilio.com/docs/api/errors. */
const TOO_MANY_REQUESTS = 20_429
const NOT_FOUND = 20_404

/**
 * Twilio Lookup v2 with line type and line status; account SID and token. One number is sent by
 * itself, several as a batch, matched by correlation id. A failed data package reports its error in
 * the body, with status 200. Source: twilio.com/docs/lookup/v2-api, November 2026.
 */
export const twilio: HlrAdapter = async (query) => {
  const [only, ...others] = query.numbers
  if (only === undefined) return []
  return others.length === 0 ? [await lookupOne(query, only)] : lookupBatch(query)
}

async function lookupOne(query: HlrQuery, number: string): Promise<HlrAnswer> {
  const { account } = query
  const path = `/v2/PhoneNumbers/${encodeURIComponent(number)}?Fields=${FIELDS.join(',')}`
  const reply = await requestJson(query, {
    method: 'GET',
    url: urlOf(account.url, TWILIO_URL, path),
    headers: { authorization: basicAuth(account) },
  })
  if (reply.kind === 'failed') return reply
  const body = fieldsOf(reply.body)
  if (reply.status === 404) return verdict('undetermined', `not found ${NOT_FOUND}`)
  if (reply.status !== 200) return refusal(body, reply.status)
  return read(number, body)
}

async function lookupBatch(query: HlrQuery): Promise<readonly HlrAnswer[]> {
  const { account, numbers } = query
  const entries = numbers.map((number, index) => ({
    correlation_id: String(index),
    phone_number: number,
    fields: FIELDS,
  }))
  const reply = await requestJson(query, {
    method: 'POST',
    url: urlOf(account.url, TWILIO_URL, '/v2/batch/query'),
    headers: {
      'content-type': 'application/json',
      authorization: basicAuth(account),
    },
    body: JSON.stringify({ phone_numbers: entries }),
  })
  if (reply.kind === 'failed') return numbers.map(() => reply)
  const body = fieldsOf(reply.body)
  if (reply.status !== 200) return numbers.map(() => refusal(body, reply.status))
  const results = new Map<string, Fields>()
  for (const result of listOf(body['phone_numbers'])) {
    const fields = fieldsOf(result)
    results.set(String(fields['correlation_id']), fields)
  }
  return numbers.map((number, index) => {
    const result = results.get(String(index))
    return result === undefined
      ? failure('protocol', true, 'no result for a number')
      : readEntry(number, result)
  })
}

function readEntry(number: string, result: Fields): HlrAnswer {
  const code = numberOf(result['twilio_error_code'])
  if (code === TOO_MANY_REQUESTS) return failure('throttled', false, `code ${code}`)
  if (code !== null && code !== 0) return verdict('undetermined', `error ${code}`)
  return read(number, result)
}

function refusal(body: Fields, status: number): HlrAnswer {
  return failure('protocol', false, `status ${status}, code ${numberOf(body['code']) ?? 'none'}`)
}

function read(number: string, body: Fields): HlrAnswer {
  if (!isForNumber(number, textOf(body['phone_number']))) {
    return failure('protocol', true, 'a reply about another number')
  }
  const valid = flagOf(body['valid'])
  if (valid === null) return failure('protocol', true, 'a reply without valid')
  const line = fieldsOf(body['line_type_intelligence'])
  const state = fieldsOf(body['line_status'])
  const status = textOf(state['status'])
  const error = numberOf(state['error_code'])
  const words = status ?? (error === null ? 'unknown' : `error ${error}`)
  const connectivity = LINE_STATUS.get((status ?? '').toLowerCase()) ?? 'undetermined'
  return verdict(valid ? connectivity : 'unknown_subscriber', valid ? words : 'invalid', {
    lineType: LINE_TYPES.get(textOf(line['type']) ?? '') ?? null,
    carrier: textOf(line['carrier_name']),
    carrierCountry: textOf(body['country_code']),
  })
}
