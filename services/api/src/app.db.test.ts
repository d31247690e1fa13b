import { afterAll, beforeAll, expect, test } from 'vitest'
import { openApiHarness, type ApiHarness } from '@plumbline/testkit/api/harness'

let stage: ApiHarness
beforeAll(async () => {
  stage = await openApiHarness()
})
afterAll(() => stage[Symbol.asyncDispose]())

test('an idempotency key cannot be spent twice by a slash at the end of its path', async () => {
  const { live: key } = await stage.account()
  const init = { key, body: { ip: '8.8.8.8' }, headers: { 'idempotency-key': 'once' } }
  expect((await stage.call('/v1/ip', init)).status).toBe(200)
  expect((await stage.call('/v1/ip/', init)).status).toBe(404)
  expect(stage.asked).toEqual(['8.8.8.8'])
})

test('every response has security headers: policy, no sniffing, no other origin, and HSTS over TLS', async () => {
  await using api = await openApiHarness({ TRUSTED_PROXIES: '127.0.0.1' })
  const { live } = await api.account()
  const statuses: number[] = []
  for (const [path, init] of [
    ['/v1/account', { key: live }],
    ['/v1/account', {}],
    ['/v1/usage?format=csv', { key: live }],
    ['/v1/none', {}],
    ['/v1/email', { method: 'PUT' }],
    ['/app/api/sign-out', { method: 'POST' }],
    ['/docs/', {}],
    ['/docs/start.js', {}],
    ['/', {}],
  ] as const) {
    const headers = { 'sec-fetch-site': 'same-origin', origin: 'https://evil.example' }
    const tls = { ...headers, 'x-forwarded-proto': 'https' }
    const response = await fetchOnce(api.url, path, init, tls)
    statuses.push(response.status)
    const policy = response.headers.get('content-security-policy') ?? ''
    for (const name of ['object-src', 'base-uri', 'frame-ancestors']) {
      expect([path, policy]).toEqual([path, expect.stringContaining(`${name} 'none'`)])
    }
    expect([path, response.headers.get('x-content-type-options')]).toEqual([path, 'nosniff'])
    expect(response.headers.get('strict-transport-security')).toBe(
      'max-age=31536000; includeSubDomains',
    )
    expect(response.headers.has('access-control-allow-origin')).toBe(false)
    const plain = await fetchOnce(api.url, path, init, headers)
    expect(plain.headers.has('strict-transport-security')).toBe(false)
  }
  expect(statuses).toEqual([200, 401, 200, 404, 405, 204, 200, 200, 302])
})

async function fetchOnce(
  base: string,
  path: string,
  { key, method = 'GET' }: { readonly key?: string; readonly method?: string },
  headers: Readonly<Record<string, string>>,
): Promise<Response> {
  const response = await fetch(`${base}${path}`, {
    method,
    redirect: 'manual',
    headers: { ...headers, ...(key === undefined ? {} : { authorization: `Bearer ${key}` }) },
  })
  await response.arrayBuffer()
  return response
}
