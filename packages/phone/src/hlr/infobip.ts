import { fieldsOf, flagOf, type Fields, listOf, numberOf, textOf } from './json.ts'
import {
  failure,
  type HlrAccount,
  type HlrAdapter,
  type HlrAnswer,
  type HlrResult,
  verdict,
} from './provider.ts'
import { basicAuth, requestJson, urlOf } from './request.ts'

/** Its base URL. */
export const INFOBIP_URL = 'https://api.infobip.com'

/** Groups of `status`. Source: infobip.com/docs, response status codes. */
const DELIVERED = 3
const REJECTED = 5

/**
 * Ids of rejections for the account's credit: not enough, and a prepaid package that has expired.
 * They come with HTTP status 200, and nothing was looked up. Source: the same.
 */
const WITHOUT_CREDIT: ReadonlySet<number> = new Set([12, 17])

/** GSM errors that show the state of the subscriber. Source: infobip.com/docs, GSM error codes. */
const ERRORS: Readonly<Record<number, HlrResult['connectivity']>> = {
  1: 'unknown_subscriber',
  27: 'absent',
  // Busy or with a full memory: the handset answered.
  31: 'connected',
  37: 'connected',
}

/**
 * Infobip Number Lookup, synchronous: several numbers a request. An absent subscriber has the same
 * status group as an unknown one, so the error decides. Source: infobip.com/docs/api, Number Lookup, November 2026.
 */
export const infobip: HlrAdapter = async (query) => {
  const { account, numbers } = query
  const reply = await requestJson(query, {
    method: 'POST',
    url: urlOf(account.url, INFOBIP_URL, '/number/1/query'),
    headers: {
      'content-type': 'application/json',
      authorization: infobipAuth(account),
    },
    body: JSON.stringify({ to: numbers.map((number) => number.slice(1)) }),
  })
  if (reply.kind === 'failed') return numbers.map(() => reply)
  const body = fieldsOf(reply.body)
  if (reply.status !== 200) return numbers.map(() => refusal(body, reply.status))
  const results = new Map<string, Fields>()
  for (const result of listOf(body['results'])) {
    const fields = fieldsOf(result)
    results.set(String(fields['to']).replace(/^\+/, ''), fields)
  }
  return numbers.map((number) => {
    const result = results.get(number.slice(1))
    return result === undefined ? failure('protocol', true, 'no result for a number') : read(result)
  })
}

/** A key alone is an App key; with a secret the two are user and password. */
export function infobipAuth(account: HlrAccount): string {
  return account.secret === null ? `App ${account.key}` : basicAuth(account)
}

function read(result: Fields): HlrAnswer {
  const status = fieldsOf(result['status'])
  const error = fieldsOf(result['error'])
  const group = numberOf(status['groupId'])
  const code = numberOf(error['id'])
  if (group === null) return failure('protocol', true, 'a result without a status group')
  const id = numberOf(status['id'])
  if (group === REJECTED && id !== null && WITHOUT_CREDIT.has(id)) {
    return failure('credit', false, `status ${id}`)
  }
  const connectivity = group === DELIVERED ? 'connected' : (ERRORS[code ?? 0] ?? 'undetermined')
  const ported = flagOf(result['ported'])
  const current = fieldsOf(ported === true ? result['portedNetwork'] : result['originalNetwork'])
  const original = fieldsOf(result['originalNetwork'])
  const words = [textOf(status['groupName']), textOf(error['name'])].filter((word) => word !== null)
  return verdict(connectivity, words.join(' ') || `group ${group}`, {
    // Of a ported number not the original network, which it has left.
    carrier: textOf(current['networkName']),
    carrierCountry: textOf(current['countryName']) ?? textOf(original['countryName']),
    ported,
    roaming: flagOf(result['roaming']),
    id: textOf(result['messageId']),
  })
}

function refusal(body: Fields, status: number): HlrAnswer {
  const exception = fieldsOf(fieldsOf(body['requestError'])['serviceException'])
  return failure('protocol', false, `status ${status} ${textOf(exception['text']) ?? ''}`)
}
