import { fieldsOf, flagOf, type Fields, listOf, textOf } from './json.ts'
import { failure, type HlrAdapter, type HlrAnswer, verdict } from './provider.ts'
import { basicAuth, requestJson, urlOf } from './request.ts'

/** Its base URL. */
export const MESSENTE_URL = 'https://api.messente.com/v1'

const CONNECTIVITY = {
  ON: 'connected',
  OFF: 'absent',
  INVALID: 'unknown_subscriber',
  UNKNOWN: 'undetermined',
} as const

/**
 * Messente Number Lookup: several numbers a request, user and password.
 * Source: messente.com/documentation, Number Lookup, and its OpenAPI file, November 2026.
 */
export const messente: HlrAdapter = async (query) => {
  const { account, numbers } = query
  const reply = await requestJson(query, {
    method: 'POST',
    url: urlOf(account.url, MESSENTE_URL, '/hlr/sync'),
    headers: {
      'content-type': 'application/json',
      authorization: basicAuth(account),
    },
    body: JSON.stringify({ numbers }),
  })
  if (reply.kind === 'failed') return numbers.map(() => reply)
  if (reply.status !== 200) {
    return numbers.map(() => failure('protocol', false, `status ${reply.status}`))
  }
  const body = fieldsOf(reply.body)
  const results = new Map<string, Fields>()
  for (const result of listOf(body['result'])) {
    const fields = fieldsOf(result)
    results.set(`+${String(fields['number']).replace(/^\+/, '')}`, fields)
  }
  const id = textOf(body['id'])
  return numbers.map((number) => {
    const result = results.get(number)
    return result === undefined
      ? failure('protocol', true, 'no result for a number')
      : read(result, id)
  })
}

function read(result: Fields, id: string | null): HlrAnswer {
  const status = textOf(result['status'])
  if (status === null || !isStatus(status)) {
    return failure('protocol', true, `status ${String(status)}`)
  }
  const network = fieldsOf(result['current_network'] ?? result['ported_network'])
  const original = fieldsOf(result['original_network'])
  const ported = flagOf(result['ported'])
  return verdict(CONNECTIVITY[status], status, {
    // Of a ported number not the original network, which it has left.
    carrier: nameOf(network) ?? (ported === true ? null : nameOf(original)),
    carrierCountry: countryOf(network) ?? countryOf(original),
    ported,
    roaming: flagOf(result['roaming']),
    id,
  })
}

function nameOf(network: Fields): string | null {
  return textOf(network['networkName']) ?? textOf(network['network_name'])
}

function countryOf(network: Fields): string | null {
  return textOf(network['countryName']) ?? textOf(network['country_name'])
}

function isStatus(status: string): status is keyof typeof CONNECTIVITY {
  return Object.hasOwn(CONNECTIVITY, status)
}
