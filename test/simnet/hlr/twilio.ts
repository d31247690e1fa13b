import { phoneOf } from '../world/phones.ts'
import type { HlrContext, HlrProvider, HlrReply } from './protocol.ts'
import { basic, jsonObject } from './protocol.ts'

const TYPE_COST_MILLI = 8
const STATUS_COST_MILLI = 7

/** Twilio Lookup v2, single and batch. Source: twilio.com/docs/lookup/v2-api. */
export const twilio: HlrProvider = (context, request) => {
  const single = /\/v2\/PhoneNumbers\/([^/]+)$/.exec(request.path)?.[1]
  const batch = request.path.endsWith('/v2/batch/query')
  if (single === undefined && !batch) return undefined
  if (!basic(request)) return failure(401, 20003, 'Authenticate')
  if (context.outOfCredit) return failure(403, 20005, 'Account not active')
  if (single !== undefined) {
    const fields = (request.query.get('Fields') ?? '').split(',')
    return lookUp(context, decodeURIComponent(single), fields)
  }
  const asked = jsonObject(request.body)?.['phone_numbers']
  if (!Array.isArray(asked)) return failure(400, 20001, 'phone_numbers is required')
  const results = asked.map((entry: unknown) => {
    const given = typeof entry === 'object' && entry !== null ? { ...entry } : {}
    const {
      phone_number,
      fields,
      correlation_id,
    }: { phone_number?: unknown; fields?: unknown; correlation_id?: unknown } = given
    const list = Array.isArray(fields) ? fields.map(String) : []
    const reply = lookUp(context, String(phone_number), list)
    const code =
      reply.status === 200 ? {} : { twilio_error_code: reply.status === 429 ? 20429 : 20404 }
    return {
      correlation_id,
      ...(reply.status === 200 && typeof reply.body === 'object' ? reply.body : {}),
      ...code,
    }
  })
  return { status: 200, body: { phone_numbers: results } }
}

const LINE_STATUS = {
  connected: 'reachable',
  absent: 'unreachable',
  'unknown-subscriber': 'inactive',
  undetermined: 'unknown',
} as const

function lookUp(context: HlrContext, number: string, fields: readonly string[]): HlrReply {
  if (!/^\+[0-9]{5,15}$/.test(number))
    return failure(404, 20404, `The requested resource /PhoneNumbers/${number} was not found`)
  const phone = phoneOf(context.world.seed, number)
  if (phone.throttledOnce && context.throttlesFirst(phone.number))
    return failure(429, 20429, 'Too Many Requests')
  const valid = phone.countryCode !== ''
  const body: Record<string, unknown> = {
    calling_country_code: valid ? phone.callingCode : null,
    country_code: valid ? phone.countryCode : null,
    phone_number: number,
    national_format: number.slice(phone.callingCode.length + 1),
    valid,
    validation_errors: valid ? [] : ['INVALID_COUNTRY_CODE'],
    line_type_intelligence: null,
    line_status: null,
    url: `https://lookups.twilio.com/v2/PhoneNumbers/${number}`,
  }
  if (fields.includes('line_type_intelligence')) {
    context.bought(number, TYPE_COST_MILLI)
    const network = phone.ported ?? phone.original
    body['line_type_intelligence'] = {
      mobile_country_code: network.mccmnc.slice(0, 3),
      mobile_network_code: network.mccmnc.slice(3),
      carrier_name: network.name,
      type: 'mobile',
      error_code: null,
    }
  }
  if (fields.includes('line_status')) {
    context.bought(number, STATUS_COST_MILLI)
    // The error of a failed package is within a successful reply.
    const failed = phone.state === 'undetermined' && Number(number.at(-1)) % 2 === 0
    body['line_status'] = failed
      ? { status: null, error_code: 60610 }
      : { status: LINE_STATUS[phone.state], error_code: null }
  }
  return { status: 200, body }
}

function failure(status: number, code: number, message: string): HlrReply {
  return {
    status,
    body: { code, message, more_info: `https://www.twilio.com/docs/errors/${code}`, status },
  }
}
