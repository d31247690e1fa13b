import { createHmac, timingSafeEqual } from 'node:crypto'
import { phoneOf } from '../world/phones.ts'
import type { Phone } from '../world/phones.ts'
import type { HlrProvider, HlrReply, HlrRequest } from './protocol.ts'
import { HLR_KEY, HLR_SECRET, jsonObject } from './protocol.ts'

const CLOCK_SECONDS = 300
const COST_MILLI = 10

/** hlr-lookups.com v2. Source: its documentation and its PHP SDK 2.0.0. */
export const hlrLookups: HlrProvider = (context, request) => {
  const path = /\/(hlr-lookup|auth-test|time)$/.exec(request.path)?.[0]
  if (path === undefined) return undefined
  if (path === '/time') return { status: 200, body: { time: Math.floor(Date.now() / 1000) } }
  if (!signed(request, path))
    return {
      status: 401,
      body: { success: false, messages: ['Unauthorized: the signature does not fit'] },
    }
  if (path === '/auth-test') return { status: 200, body: { success: true } }
  const number = msisdn(request.body)
  if (number === undefined)
    return { status: 422, body: { success: false, messages: ['msisdn is required'] } }
  const phone = phoneOf(context.world.seed, number)
  if (context.outOfCredit)
    return { status: 402, body: { success: false, messages: ['Insufficient credits'] } }
  // Beyond the permitted number of connections, its gateway replies 502.
  if (phone.throttledOnce && context.throttlesFirst(phone.number))
    return { status: 502, body: { messages: ['Bad Gateway'] } }
  context.bought(phone.number, COST_MILLI)
  return found(phone)
}

/** HMAC-SHA256 over path, time, method and body; the path is that after the version. */
function signed(request: HlrRequest, path: string): boolean {
  const key = request.headers['x-digest-key']
  const timestamp = request.headers['x-digest-timestamp']
  const signature = request.headers['x-digest-signature']
  if (key !== HLR_KEY || typeof timestamp !== 'string' || typeof signature !== 'string')
    return false
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) <= CLOCK_SECONDS)) return false
  const text = `${path}${timestamp}${request.method.toUpperCase()}${request.body}`
  const expected = createHmac('sha256', HLR_SECRET).update(text).digest('hex')
  return (
    signature.length === expected.length &&
    timingSafeEqual(Buffer.from(signature), Buffer.from(expected))
  )
}

function msisdn(body: string): string | undefined {
  const given = jsonObject(body)?.['msisdn']
  return typeof given === 'string' && /^\+?[0-9]{5,15}$/.test(given) ? given : undefined
}

const STATUS = {
  connected: 'CONNECTED',
  absent: 'ABSENT',
  'unknown-subscriber': 'INVALID_MSISDN',
  undetermined: 'UNDETERMINED',
} as const

function found(phone: Phone): HlrReply {
  const known = phone.state === 'connected' || phone.state === 'absent'
  const network = phone.ported ?? phone.original
  const country = {
    name: known ? phone.countryName : null,
    code: known ? phone.countryCode : null,
    prefix: known ? `+${phone.callingCode}` : null,
  }
  return {
    status: 200,
    body: {
      id: phone.number.slice(-8).padStart(12, 'f'),
      msisdn: phone.number,
      connectivity_status: STATUS[phone.state],
      mccmnc: known ? network.mccmnc : null,
      mcc: known ? network.mccmnc.slice(0, 3) : null,
      mnc: known ? network.mccmnc.slice(3) : null,
      imsi: null,
      msin: null,
      msc: null,
      original_network_name: known ? phone.original.name : null,
      original_country_name: country.name,
      original_country_code: country.code,
      original_country_prefix: country.prefix,
      is_ported: known ? phone.ported !== undefined : null,
      ported_network_name: phone.ported?.name ?? null,
      ported_country_name: phone.ported === undefined ? null : country.name,
      ported_country_code: phone.ported === undefined ? null : country.code,
      ported_country_prefix: phone.ported === undefined ? null : country.prefix,
      is_roaming: known ? phone.roaming !== undefined : null,
      roaming_network_name: phone.roaming?.name ?? null,
      roaming_country_name: phone.roaming?.countryName ?? null,
      roaming_country_code: phone.roaming?.countryCode ?? null,
      roaming_country_prefix: null,
      cost: '0.0100',
      timestamp: new Date().toISOString(),
      storage: 'SYNC-API',
      route: 'IP1',
      processing_status: 'COMPLETED',
      error_code: null,
      data_source: 'LIVE_HLR',
    },
  }
}
