import { createSign, randomUUID } from 'node:crypto'
import { fieldsOf, type Fields, flagOf, textOf } from './json.ts'
import {
  failure,
  type HlrAdapter,
  type HlrAnswer,
  type HlrQuery,
  type HlrResult,
  verdict,
} from './provider.ts'
import { requestJson, urlOf } from './request.ts'
import { NETWORK_TYPES } from './vonage.ts'

const USUAL_URL = 'https://api-eu.vonage.com'

/** Lifetime of a token. Source: developer.vonage.com, JWT. */
const TOKEN_SECONDS = 300

/**
 * Vonage Identity Insights: one number a request; the key is an application id, the secret its
 * private key (PEM). Each insight has a status of its own, in upper or lower case. Source:
 * developer.vonage.com, Identity Insights, and its Node SDK, November 2026.
 */
export const vonageIdentity: HlrAdapter = (query) =>
  Promise.all(query.numbers.map((number) => lookupOne(query, number)))

async function lookupOne(query: HlrQuery, number: string): Promise<HlrAnswer> {
  const token = signToken(query)
  if (token === null) return failure('credentials', false, 'the secret is no private key in PEM')
  const reply = await requestJson(query, {
    method: 'POST',
    url: urlOf(query.account.url, USUAL_URL, '/identity-insights/v1/requests'),
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({
      phone_number: number,
      insights: {
        format: {},
        current_carrier: {},
        original_carrier: {},
        roaming: {},
        reachability: {},
      },
    }),
  })
  if (reply.kind === 'failed') return reply
  if (reply.status !== 200) return failure('protocol', false, `status ${reply.status}`)
  const body = fieldsOf(reply.body)
  return read(textOf(body['request_id']), fieldsOf(body['insights']))
}

function read(id: string | null, insights: Fields): HlrAnswer {
  const format = insight(insights, 'format')
  const reach = insight(insights, 'reachability')
  const carrier = insight(insights, 'current_carrier')
  const original = insight(insights, 'original_carrier')
  if (format.code === null && reach.code === null && carrier.code === null) {
    return failure('protocol', true, 'a reply without insights')
  }
  if (reach.code === 'UNAUTHORIZED' && carrier.code === 'UNAUTHORIZED') {
    return failure('credentials', false, 'the application is not allowed these insights')
  }
  const name = textOf(carrier.fields['name'])
  const given = textOf(original.fields['name'])
  const told = name !== null && given !== null
  const roaming = insight(insights, 'roaming')
  return verdict(connectivityOf(format, reach), `reachability ${reach.code ?? 'none'}`, {
    lineType:
      NETWORK_TYPES.get((textOf(carrier.fields['network_type']) ?? '').toLowerCase()) ?? null,
    carrier: name ?? given,
    carrierCountry:
      textOf(carrier.fields['country_code']) ?? textOf(original.fields['country_code']),
    ported: told ? name !== given : null,
    roaming: roamingOf(roaming),
    id,
  })
}

interface Insight {
  readonly code: string | null
  readonly fields: Fields
}

function insight(insights: Fields, name: string): Insight {
  const fields = fieldsOf(insights[name])
  return { code: textOf(fieldsOf(fields['status'])['code'])?.toUpperCase() ?? null, fields }
}

function connectivityOf(format: Insight, reach: Insight): HlrResult['connectivity'] {
  if (format.code === 'INVALID_NUMBER_FORMAT') return 'unknown_subscriber'
  const reachable = reach.code === 'OK' ? flagOf(reach.fields['is_reachable']) : null
  if (reachable === null) return 'undetermined'
  return reachable ? 'connected' : 'absent'
}

function roamingOf(roaming: Insight): boolean | null {
  if (roaming.code !== 'OK') return null
  return flagOf(roaming.fields['is_roaming']) ?? flagOf(roaming.fields['roaming'])
}

/** A JWT of the application, RS256. Source: RFC 7519, RFC 7518 3.3. */
function signToken({ account, nowMs }: HlrQuery): string | null {
  const issued = Math.floor(nowMs / 1_000)
  const claims = {
    application_id: account.key,
    iat: issued,
    exp: issued + TOKEN_SECONDS,
    jti: randomUUID(),
  }
  const text = [{ alg: 'RS256', typ: 'JWT' }, claims].map(base64url).join('.')
  try {
    const signature = createSign('RSA-SHA256')
      .update(text)
      .sign(account.secret ?? '')
    return `${text}.${signature.toString('base64url')}`
  } catch {
    return null
  }
}

function base64url(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
