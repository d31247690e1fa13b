import type { HttpAnswer } from '@plumbline/net/http'
import { HLR_LOOKUPS_URL, signatureOf } from './hlr-lookups.ts'
import { INFOBIP_URL, infobipAuth } from './infobip.ts'
import { MESSENTE_URL } from './messente.ts'
import type { HlrAccount, HlrFetch } from './provider.ts'
import type { HlrProviderName } from '@plumbline/ports/provider-status'
import { basicAuth, urlOf } from './request.ts'
import { TWILIO_URL } from './twilio.ts'
import { VONAGE_URL } from './vonage.ts'

/** Input of a test of credentials. */
export interface SignInQuery {
  readonly provider: HlrProviderName
  readonly account: HlrAccount
  readonly fetch: HlrFetch
  readonly timeoutMs: number
  readonly signal: AbortSignal
  /** Unix time, for signatures. */
  readonly nowMs: number
}

/** Whether a provider accepts credentials; `unclear` if no free request can show it. */
export interface SignIn {
  readonly kind: 'accepted' | 'refused' | 'unclear' | 'unreachable'
  readonly detail: string
}

interface FreeCall {
  readonly url: string
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** Statuses that only authenticated callers get. */
  readonly accepted: readonly number[]
}

const ANSWER_MAX_BYTES = 64 * 1024

/** A number of the range reserved for fiction, for a formatting request that is free. */
const FICTIONAL_NUMBER = '+12125550100'

/**
 * Authenticates at a provider with a request that costs nothing. Throws only for a malformed URL.
 */
export async function signIn(query: SignInQuery): Promise<SignIn> {
  const call = CALLS[query.provider]?.(query) ?? null
  if (call === null) {
    return { kind: 'unclear', detail: 'set; this provider has no free call that tests it' }
  }
  const { url, method, headers, body } = call
  const answer = await query.fetch({
    url,
    method,
    headers: { accept: 'application/json', ...headers },
    ...(body === undefined ? {} : { body }),
    maxBytes: ANSWER_MAX_BYTES,
    overflow: 'cut',
    maxRedirects: 0,
    timeoutMs: query.timeoutMs,
    signal: query.signal,
  })
  return judged(answer, call.accepted)
}

function judged(answer: HttpAnswer, accepted: readonly number[]): SignIn {
  if (answer.kind === 'failed') {
    return { kind: 'unreachable', detail: `${answer.reason}: ${answer.detail}` }
  }
  const { status } = answer
  if (accepted.includes(status)) return { kind: 'accepted', detail: 'credentials accepted' }
  if (status === 401 || status === 403) {
    return { kind: 'refused', detail: `credentials refused, status ${status}` }
  }
  return {
    kind: 'unclear',
    detail: `replied ${status}, which does not show whether the credentials are accepted`,
  }
}

/**
 * Source: hlr-lookups.com API documentation (`GET /auth-test`), Infobip account balance, Twilio
 * Lookup v2, Vonage Account API 1.0.4 (secret management), Messente OpenAPI file.
 */
const CALLS: Readonly<Partial<Record<HlrProviderName, (query: SignInQuery) => FreeCall>>> = {
  'hlr-lookups': (query) => ({
    url: urlOf(query.account.url, HLR_LOOKUPS_URL, '/auth-test'),
    method: 'GET',
    headers: signatureOf(query, 'GET', '/auth-test'),
    accepted: [200],
  }),
  infobip: ({ account }) => ({
    url: urlOf(account.url, INFOBIP_URL, '/account/1/balance'),
    method: 'GET',
    headers: { authorization: infobipAuth(account) },
    accepted: [200],
  }),
  // Formatting without data packages is free.
  twilio: ({ account }) => ({
    url: urlOf(account.url, TWILIO_URL, `/v2/PhoneNumbers/${FICTIONAL_NUMBER}`),
    method: 'GET',
    headers: { authorization: basicAuth(account) },
    accepted: [200, 404],
  }),
  vonage: ({ account }) => ({
    url: urlOf(account.url, VONAGE_URL, `/accounts/${encodeURIComponent(account.key)}/secrets`),
    method: 'GET',
    headers: { authorization: basicAuth(account) },
    accepted: [200],
  }),
  // Without numbers there is nothing to buy, and only an authenticated caller gets that error.
  messente: ({ account }) => ({
    url: urlOf(account.url, MESSENTE_URL, '/hlr/sync'),
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: basicAuth(account) },
    body: JSON.stringify({ numbers: [] }),
    accepted: [200, 400, 422],
  }),
}
