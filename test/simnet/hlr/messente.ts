import { phoneOf } from '../world/phones.ts'
import type { Network } from '../world/phones.ts'
import type { HlrProvider, HlrReply } from './protocol.ts'
import { basic, jsonObject, strings } from './protocol.ts'

const MOST_NUMBERS = 10
const COST_MILLI = 2

const STATUS = {
  connected: 'ON',
  absent: 'OFF',
  'unknown-subscriber': 'INVALID',
  undetermined: 'UNKNOWN',
} as const

/**
 * Messente number lookup. Source: messente.com/documentation/number-lookup, `POST /v1/hlr/sync`.
 */
export const messente: HlrProvider = (context, request) => {
  if (!request.path.endsWith('/v1/hlr/sync')) return undefined
  if (!basic(request)) return failure(401, 105, 'Unauthorized')
  const numbers = strings(jsonObject(request.body)?.['numbers'])
  if (numbers.length === 0 || numbers.length > MOST_NUMBERS)
    return failure(400, 101, `numbers must hold 1 to ${MOST_NUMBERS} numbers`)
  if (context.outOfCredit) return failure(402, 106, 'Not enough credits')
  const phones = numbers.map((number) => phoneOf(context.world.seed, number))
  if (phones.some((phone) => phone.throttledOnce && context.throttlesFirst(phone.number)))
    return failure(429, 110, 'Too many requests')
  const result = phones.map((phone) => {
    context.bought(phone.number, COST_MILLI)
    const known = phone.state === 'connected' || phone.state === 'absent'
    const network = (from: Network): unknown => ({
      mccmnc: from.mccmnc,
      networkName: from.name,
      countryName: phone.countryName,
      countryPrefix: phone.callingCode,
      countryCode: phone.countryCode,
    })
    return {
      number: phone.number,
      roaming: known ? phone.roaming !== undefined : null,
      ported: known ? phone.ported !== undefined : null,
      roaming_network: phone.roaming === undefined ? null : network(phone.roaming),
      current_network: known ? network(phone.ported ?? phone.original) : null,
      original_network: known ? network(phone.original) : null,
      ported_network: phone.ported === undefined ? null : network(phone.ported),
      status: STATUS[phone.state],
      error:
        phone.state === 'undetermined' ? { code: 6, description: 'Operator did not answer' } : null,
    }
  })
  return { status: 200, body: { result, id: 'sim' } }
}

function failure(status: number, code: number, message: string): HlrReply {
  return { status, body: { error: { code, message } } }
}
