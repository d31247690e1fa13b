import { verify } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { phoneOf } from '../world/phones.ts'
import type { Network, Phone } from '../world/phones.ts'
import type { HlrContext, HlrProvider, HlrReply } from './protocol.ts'
import { HLR_KEY, HLR_SECRET, jsonObject } from './protocol.ts'

const COST_MILLI = 40

/**
 * Vonage Number Insight Advanced (errors come inside a 200) and Identity Insights. Source:
 * developer.vonage.com.
 */
export const vonage: HlrProvider = (context, request) => {
  if (request.path.endsWith('/identity-insights/v1/requests')) {
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1]
    if (token === undefined || !isSigned(token, context.tokenKey))
      return { status: 401, body: { title: 'Unauthorized', detail: 'a token is required' } }
    return identity(context, jsonObject(request.body))
  }
  if (!/\/ni\/advanced(\/async)?\/json$/.test(request.path)) return undefined
  const given = request.method === 'POST' ? new URLSearchParams(request.body) : request.query
  const fields = jsonObject(request.body)
  const field = (name: string): string => given.get(name) ?? textOf(fields?.[name])
  if (!authorised(request.headers.authorization, field))
    return ok({ status: 4, status_message: 'Invalid credentials' })
  const number = field('number').replace(/^\+/, '')
  if (!/^[0-9]{5,15}$/.test(number)) return ok({ status: 3, status_message: 'Invalid number' })
  if (context.outOfCredit) return ok({ status: 9, status_message: 'Partner quota exceeded' })
  const phone = phoneOf(context.world.seed, number)
  if (phone.throttledOnce && context.throttlesFirst(phone.number))
    return ok({ status: 1, status_message: 'Busy' })
  context.bought(phone.number, COST_MILLI)
  return ok(advanced(phone, number))
}

/** Whether this is an unexpired JWT signed with RS256. Source: RFC 7519, RFC 7518 3.3. */
function isSigned(token: string, key: KeyObject | undefined): boolean {
  if (key === undefined) return true
  const [head = '', claims = '', signature = ''] = token.split('.')
  if (
    !verify(
      'RSA-SHA256',
      Buffer.from(`${head}.${claims}`),
      key,
      Buffer.from(signature, 'base64url'),
    )
  )
    return false
  const expires = jsonObject(Buffer.from(claims, 'base64url').toString('utf8'))?.['exp']
  return typeof expires === 'number' && expires > Date.now() / 1000
}

function authorised(header: string | undefined, field: (name: string) => string): boolean {
  const expected = Buffer.from(`${HLR_KEY}:${HLR_SECRET}`).toString('base64')
  return (
    header === `Basic ${expected}` ||
    (field('api_key') === HLR_KEY && field('api_secret') === HLR_SECRET)
  )
}

const REACHABLE = {
  connected: 'reachable',
  absent: 'absent',
  'unknown-subscriber': 'bad_number',
  undetermined: 'unknown',
} as const

function advanced(phone: Phone, number: string): unknown {
  const partial = phone.state === 'undetermined'
  const missing = phone.state === 'unknown-subscriber'
  return {
    status: partial ? 44 : 0,
    status_message: partial ? 'Lookup Handler unable to handle request' : 'Success',
    lookup_outcome: partial ? 1 : 0,
    lookup_outcome_message: partial ? 'Partial success - some fields populated' : 'Success',
    request_id: `sim-${number}`,
    international_format_number: number,
    national_format_number: number.slice(phone.callingCode.length),
    country_code: phone.countryCode,
    country_name: phone.countryName,
    country_prefix: phone.callingCode,
    request_price: '0.04000000',
    refund_price: partial ? '0.03000000' : '0.00000000',
    remaining_balance: '10.00000000',
    current_carrier: carrier(phone, missing ? undefined : (phone.ported ?? phone.original)),
    original_carrier: carrier(phone, phone.original),
    valid_number: missing ? 'not_valid' : partial ? 'unknown' : 'valid',
    reachable: REACHABLE[phone.state],
    ported: partial || missing ? 'unknown' : phone.ported === undefined ? 'not_ported' : 'ported',
    // An object if the network is known, otherwise a plain string.
    roaming: partial || missing ? 'unknown' : roaming(phone),
  }
}

function roaming(phone: Phone): unknown {
  if (phone.roaming === undefined) return { status: 'not_roaming' }
  return {
    status: 'roaming',
    roaming_country_code: phone.roaming.countryCode,
    roaming_network_code: phone.roaming.mccmnc,
    roaming_network_name: phone.roaming.name,
  }
}

function carrier(phone: Phone, network: Network | undefined): unknown {
  if (network === undefined)
    return { network_code: null, name: null, country: null, network_type: null }
  return {
    network_code: network.mccmnc,
    name: network.name,
    country: phone.countryCode,
    network_type: 'mobile',
  }
}

function identity(context: HlrContext, body: Record<string, unknown> | undefined): HlrReply {
  const number = textOf(body?.['phone_number'])
  const asked =
    typeof body?.['insights'] === 'object' && body['insights'] !== null
      ? Object.keys(body['insights'])
      : []
  if (!/^\+?[0-9]{5,15}$/.test(number)) {
    return {
      status: 422,
      body: { title: 'Unprocessable Entity', detail: 'phone_number is not a number' },
    }
  }
  if (context.outOfCredit)
    return { status: 402, body: { title: 'Payment Required', detail: 'no credit left' } }
  const phone = phoneOf(context.world.seed, number)
  if (phone.throttledOnce && context.throttlesFirst(phone.number))
    return { status: 429, body: { title: 'Too Many Requests' } }
  context.bought(phone.number, COST_MILLI)
  const found = phone.state === 'connected' || phone.state === 'absent'
  const status = {
    code: found ? 'OK' : phone.state === 'undetermined' ? 'NO_COVERAGE' : 'NOT_FOUND',
    message: '',
  }
  const all: Record<string, unknown> = {
    format: {
      country_code: phone.countryCode,
      country_name: phone.countryName,
      is_format_valid: true,
      status: { code: 'OK', message: '' },
    },
    current_carrier: {
      ...(found ? identityCarrier(phone, phone.ported ?? phone.original) : {}),
      status,
    },
    original_carrier: {
      ...identityCarrier(phone, phone.original),
      status: { code: 'OK', message: '' },
    },
    roaming: { ...(found ? { is_roaming: phone.roaming !== undefined } : {}), status },
    reachability: {
      ...(found
        ? { is_reachable: phone.state === 'connected', connectivity: ['DATA', 'SMS'] }
        : {}),
      status,
    },
  }
  const insights = Object.fromEntries(
    asked.filter((name) => name in all).map((name) => [name, all[name]]),
  )
  return { status: 200, body: { request_id: `sim-${number}`, insights } }
}

function identityCarrier(phone: Phone, network: Network): Record<string, string> {
  return {
    name: network.name,
    network_type: 'MOBILE',
    country_code: phone.countryCode,
    network_code: network.mccmnc,
  }
}

function ok(body: unknown): HlrReply {
  return { status: 200, body }
}

function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}
