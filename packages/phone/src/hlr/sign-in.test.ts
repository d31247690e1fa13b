import { describe, expect, test } from 'vitest'
import type { HttpAnswer } from '@plumbline/net/http'
import { readHlrAccounts } from './accounts.ts'
import type { HlrFetch } from './provider.ts'
import { signIn, type SignInQuery } from './sign-in.ts'

function answering(status: number): { fetch: HlrFetch; urls: string[] } {
  const urls: string[] = []
  const fetch: HlrFetch = async ({ url }) => {
    urls.push(url)
    const body = new Uint8Array()
    return { kind: 'response', status, headers: {}, body, cut: false, url, redirects: 0 }
  }
  return { fetch, urls }
}

function query(provider: SignInQuery['provider'], fetch: HlrFetch): SignInQuery {
  const account = { url: 'http://hlr.example:8000', key: 'k', secret: 's' }
  const { signal } = new AbortController()
  return { provider, account, fetch, timeoutMs: 1_000, signal, nowMs: 1_700_000_000_000 }
}

describe('sign in', () => {
  test.for(['hlr-lookups', 'infobip', 'twilio', 'vonage', 'messente'] as const)(
    'of %s distinguishes accepted, refused and unclear',
    async (provider) => {
      const kindOf = async (status: number): Promise<string> =>
        (await signIn(query(provider, answering(status).fetch))).kind
      expect(await kindOf(200)).toBe('accepted')
      expect(await kindOf(401)).toBe('refused')
      expect(await kindOf(500)).toBe('unclear')
    },
  )

  test('stays on the operator’s address', async () => {
    const { fetch, urls } = answering(200)
    await signIn(query('infobip', fetch))
    expect(urls).toEqual(['http://hlr.example:8000/account/1/balance'])
  })

  test('sends nothing to a provider without a free call', async () => {
    const { fetch, urls } = answering(200)
    expect((await signIn(query('vonage-identity', fetch))).kind).toBe('unclear')
    expect(urls).toEqual([])
  })

  test('says why there was no answer', async () => {
    const failed: HttpAnswer = {
      kind: 'failed',
      reason: 'timeout',
      detail: 'no answer in 1 s',
      url: '',
      sent: true,
    }
    expect(await signIn(query('twilio', async () => failed))).toEqual({
      kind: 'unreachable',
      detail: 'timeout: no answer in 1 s',
    })
  })
})

describe('accounts', () => {
  test('use a single value whole and split several by position', () => {
    const one = readHlrAccounts({
      providers: ['twilio'],
      urls: undefined,
      keys: 'a,b',
      secrets: 's',
    })
    expect(one).toEqual([{ name: 'twilio', url: null, key: 'a,b', secret: 's' }])
    const two = readHlrAccounts({
      providers: ['twilio', 'infobip'],
      urls: ',http://x.example',
      keys: 'a,b',
      secrets: undefined,
    })
    expect(two).toEqual([
      { name: 'twilio', url: null, key: 'a', secret: null },
      { name: 'infobip', url: 'http://x.example', key: 'b', secret: null },
    ])
  })

  test('name an unknown provider and a missing key', () => {
    const settings = { urls: undefined, keys: undefined, secrets: undefined }
    expect(() => readHlrAccounts({ ...settings, providers: ['nobody'] })).toThrow('"nobody"')
    expect(() => readHlrAccounts({ ...settings, providers: ['twilio'] })).toThrow('for twilio')
  })
})
