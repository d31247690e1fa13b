import { phoneOf } from '../world/phones.ts'
import type { Network, Phone } from '../world/phones.ts'
import type { HlrProvider, HlrReply } from './protocol.ts'
import { basic, HLR_KEY, jsonObject, strings } from './protocol.ts'

const MOST_NUMBERS = 1000
const COST_MILLI = 4

/**
 * Infobip Number Lookup, the synchronous call. Source: its documentation, `POST /number/1/query`.
 */
export const infobip: HlrProvider = (context, request) => {
  if (!request.path.endsWith('/number/1/query')) return undefined
  if (!basic(request) && request.headers.authorization !== `App ${HLR_KEY}`) {
    return failure(401, 'UNAUTHORIZED', 'Invalid login details')
  }
  const numbers = strings(jsonObject(request.body)?.['to'])
  if (numbers.length === 0 || numbers.length > MOST_NUMBERS) {
    return failure(400, 'BAD_REQUEST', `to must hold 1 to ${MOST_NUMBERS} numbers`)
  }
  if (context.outOfCredit) {
    return {
      status: 200,
      body: { results: numbers.map((to) => ({ to, status: REJECTED, error: NO_ERROR })) },
    }
  }
  const results = numbers.map((number) => {
    const phone = phoneOf(context.world.seed, number)
    if (phone.throttledOnce && context.throttlesFirst(phone.number))
      return { to: number, status: PENDING, error: NO_ERROR }
    context.bought(phone.number, COST_MILLI)
    return resultOf(number, phone)
  })
  return { status: 200, body: { results } }
}

const NO_ERROR = {
  groupId: 0,
  groupName: 'OK',
  id: 0,
  name: 'NO_ERROR',
  description: 'No Error',
  permanent: false,
}
const DELIVERED = {
  groupId: 3,
  groupName: 'DELIVERED',
  id: 5,
  name: 'DELIVERED_TO_HANDSET',
  description: 'Message delivered to handset',
}
const UNDELIVERABLE = {
  groupId: 2,
  groupName: 'UNDELIVERABLE',
  id: 9,
  name: 'UNDELIVERABLE_NOT_DELIVERED',
  description: 'Message sent not delivered',
}
const PENDING = {
  groupId: 1,
  groupName: 'PENDING',
  id: 3,
  name: 'PENDING_WAITING_DELIVERY',
  description: 'Message sent, waiting for delivery report',
}
const EXPIRED = {
  groupId: 4,
  groupName: 'EXPIRED',
  id: 15,
  name: 'EXPIRED_EXPIRED',
  description: 'Message expired',
}
const REJECTED = {
  groupId: 5,
  groupName: 'REJECTED',
  id: 12,
  name: 'REJECTED_NOT_ENOUGH_CREDITS',
  description: 'Not enough credits',
}

/**
 * An absent subscriber is in the same group as an unknown one; only `permanent` distinguishes them.
 */
function resultOf(to: string, phone: Phone): unknown {
  const networks = {
    mccMnc: (phone.ported ?? phone.original).mccmnc,
    originalNetwork: network(phone, phone.original),
    ...(phone.ported === undefined ? {} : { portedNetwork: network(phone, phone.ported) }),
    ...(phone.roaming === undefined
      ? {}
      : {
          roamingNetwork: {
            networkName: phone.roaming.name,
            countryName: phone.roaming.countryName,
          },
        }),
    ported: phone.ported !== undefined,
    roaming: phone.roaming !== undefined,
  }
  switch (phone.state) {
    case 'connected':
      return { to, ...networks, status: DELIVERED, error: NO_ERROR }
    case 'absent':
      return {
        to,
        ...networks,
        status: UNDELIVERABLE,
        error: gsm(27, 'EC_ABSENT_SUBSCRIBER', 'Absent Subscriber', false),
      }
    case 'unknown-subscriber':
      return {
        to,
        ported: false,
        roaming: false,
        status: UNDELIVERABLE,
        error: gsm(1, 'EC_UNKNOWN_SUBSCRIBER', 'Unknown Subscriber', true),
      }
    case 'undetermined':
      return {
        to,
        ported: false,
        roaming: false,
        status: EXPIRED,
        error: gsm(34, 'EC_SYSTEM_FAILURE', 'System Failure', false),
      }
  }
}

function network(phone: Phone, { name, mccmnc }: Network): unknown {
  return {
    networkName: name,
    networkPrefix: mccmnc.slice(3),
    countryName: phone.countryName,
    countryPrefix: phone.callingCode,
  }
}

function gsm(id: number, name: string, description: string, permanent: boolean): unknown {
  return { groupId: 1, groupName: 'HANDSET_ERRORS', id, name, description, permanent }
}

function failure(status: number, messageId: string, text: string): HlrReply {
  return { status, body: { requestError: { serviceException: { messageId, text } } } }
}
