import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createClient, type Client } from './client.ts'
import {
  BadRequestError,
  ConnectionError,
  NotFoundError,
  PaymentRequiredError,
  RefusedError,
  TooManyRequestsError,
  UnavailableError,
  UnauthorizedError,
} from './refused.ts'

interface Seen {
  readonly url: string
  readonly init: RequestInit
}

/** A client whose service returns these responses in order, and repeats the last one. */
function clientOf(...answers: readonly (() => Response)[]): { client: Client; seen: Seen[] } {
  const seen: Seen[] = []
  const client = createClient({
    baseUrl: 'http://service.example/',
    key: 'svc_live_x',
    fetch: async (url, init) => {
      seen.push({ url, init })
      const answer = answers[Math.min(seen.length, answers.length) - 1]
      return answer?.() ?? Response.json({})
    },
  })
  return { client, seen }
}

function refusal(status: number, headers: Record<string, string> = {}): () => Response {
  return () => Response.json({ error: 'No', message: 'Do this.' }, { status, headers })
}

/** A response body that breaks off with the error that fetch gives. */
function cutAfter(text: string): ReadableStream<Uint8Array> {
  let isSent = false
  return new ReadableStream<Uint8Array>({
    pull: (controller) => {
      if (isSent) controller.error(new TypeError('terminated'))
      else controller.enqueue(new TextEncoder().encode(text))
      isSent = true
    },
  })
}

function headersOf({ init }: Seen): Headers {
  return new Headers(init.headers)
}

describe('lookups', () => {
  test('send a POST with the key and resolve with the result', async () => {
    const { client, seen } = clientOf(() => Response.json({ credits_used: 1 }))
    const request = { email: 'ada@example.com', explain: true }
    expect(await client.fraudSignals(request, { idempotencyKey: 'k' })).toEqual({ credits_used: 1 })
    const [call] = seen
    expect(call?.url).toBe('http://service.example/v1/fraud-signals')
    expect(call?.init.method).toBe('POST')
    expect(call?.init.body).toBe(JSON.stringify(request))
    const headers = call === undefined ? new Headers() : headersOf(call)
    expect(headers.get('authorization')).toBe('Bearer svc_live_x')
    expect(headers.get('content-type')).toBe('application/json')
    expect(headers.get('idempotency-key')).toBe('k')
  })

  test('reject with the error message of the service', async () => {
    const { client } = clientOf(refusal(402, { 'x-request-id': 'r1' }))
    const error = await client.email({ email: 'x' }).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(RefusedError)
    expect(error).toMatchObject({ status: 402, error: 'No', message: 'Do this.', requestId: 'r1' })
  })

  test('report the response of another server in place of the service', async () => {
    const { client } = clientOf(() => new Response('<html>bad gateway', { status: 502 }))
    await expect(client.account()).rejects.toThrow('The service answered 502: <html>bad gateway')
  })

  test('retry at the given time, and give up after the last try', async () => {
    const busy = refusal(429, { 'retry-after': '0' })
    const patient = clientOf(busy, busy, () => Response.json({ plan: 'pro' }))
    expect(await patient.client.account()).toEqual({ plan: 'pro' })
    expect(patient.seen).toHaveLength(3)
    const hopeless = clientOf(busy)
    await expect(hopeless.client.account()).rejects.toMatchObject({ status: 429 })
    expect(hopeless.seen).toHaveLength(3)
    const once = clientOf(refusal(409, { 'retry-after': '0' }))
    await expect(once.client.account()).rejects.toMatchObject({ status: 409 })
    expect(once.seen).toHaveLength(1)
    const late = clientOf(refusal(429, { 'retry-after': '61' }))
    await expect(late.client.account()).rejects.toBeInstanceOf(TooManyRequestsError)
    expect(late.seen).toHaveLength(1)
  })

  test('that are waited for end if the connection is silent, after the wait and the time-out of a call', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const client = createClient({
      baseUrl: 'http://service.example/',
      timeoutMs: 5_000,
      retries: 0,
      fetch: (_url, { signal }) =>
        new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason))),
    })
    const said: string[] = []
    void client.lookup('lkp_1', 30).catch((error: unknown) => said.push(String(error)))
    await vi.advanceTimersByTimeAsync(34_999)
    expect(said).toEqual([])
    await vi.advanceTimersByTimeAsync(1)
    expect(said).toEqual([
      'ConnectionError: The service could not be reached: no answer within 35000 ms.',
    ])
  })

  test('are retried with the same key if the connection breaks, or while the first attempt still runs', async () => {
    const { client, seen } = clientOf(
      () => {
        throw new TypeError('fetch failed', { cause: new Error('read ECONNRESET') })
      },
      refusal(409, { 'retry-after': '0' }),
      () => Response.json({ credits_used: 1 }),
    )
    await client.email({ email: 'x' })
    await client.email({ email: 'x' })
    const keys = seen.map((call) => headersOf(call).get('idempotency-key'))
    expect(keys[0]).toMatch(/^[0-9a-f]{32}$/)
    expect(keys).toEqual([keys[0], keys[0], keys[0], expect.stringMatching(/^[0-9a-f]{32}$/)])
    expect(keys[3]).not.toBe(keys[0])
  })

  test('reject with ConnectionError if there is no complete response', async () => {
    const broken = clientOf(() => {
      throw new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED') })
    })
    const failure = await broken.client.account().catch((thrown: unknown) => thrown)
    expect(failure).toBeInstanceOf(ConnectionError)
    expect(failure).toMatchObject({ message: expect.stringContaining('connect ECONNREFUSED') })
    expect(broken.seen).toHaveLength(3)
    const page = clientOf(() => new Response('<html>welcome'))
    await expect(page.client.account()).rejects.toThrow('its answer is not JSON')
    expect(page.seen).toHaveLength(1)
  })

  test('refusals have an error class for their status', async () => {
    for (const [status, kind] of [
      [400, BadRequestError],
      [401, UnauthorizedError],
      [402, PaymentRequiredError],
      [404, NotFoundError],
    ] as const) {
      await expect(clientOf(refusal(status)).client.account()).rejects.toBeInstanceOf(kind)
    }
  })

  test('are aborted by the signal of the caller', async () => {
    const { client } = clientOf(refusal(503, { 'retry-after': '50' }))
    const signal = AbortSignal.timeout(10)
    await expect(client.account({ signal })).rejects.toMatchObject({ name: 'TimeoutError' })
  })
})

describe('batches', () => {
  test('a stream is sent once, and released when the call fails', async () => {
    let isOpen = true
    async function* bytes(): AsyncGenerator<Uint8Array> {
      try {
        for (;;) yield new Uint8Array(1_000)
      } finally {
        isOpen = false
      }
    }
    let calls = 0
    const client = createClient({
      baseUrl: 'http://service.example',
      key: 'svc_live_x',
      fetch: async (_url, { body }) => {
        calls += 1
        if (!(body instanceof ReadableStream)) throw new Error('expected a stream')
        const reader = body.getReader()
        for (let chunk = 0; chunk < 3; chunk += 1) await reader.read()
        await reader.cancel()
        return refusal(503, { 'retry-after': '0' })()
      },
    })
    const upload = { product: 'email', file: bytes(), fileName: 'a.csv' } as const
    await expect(client.batches.create(upload)).rejects.toBeInstanceOf(UnavailableError)
    expect([calls, isOpen]).toEqual([1, false])
  })

  test('rows continue after the last one if the connection breaks', async () => {
    const { client, seen } = clientOf(
      () => new Response(cutAfter('{"row":1}\n{"row":2}\n{"ro')),
      () => new Response('{"row":3}\n', { headers: { 'x-results-complete': 'true' } }),
    )
    const read: number[] = []
    for await (const { row } of client.batches.rows('bat_1', { everyMs: 1 })) read.push(row)
    expect(read).toEqual([1, 2, 3])
    expect(seen.map(({ url }) => new URL(url).searchParams.get('after'))).toEqual(['0', '2'])
  })

  test('rows end with the error of a connection that keeps breaking', async () => {
    const { client, seen } = clientOf(() => new Response(cutAfter('{"ro')))
    const read = client.batches.rows('bat_1', { everyMs: 1 }).next()
    await expect(read).rejects.toThrow('terminated')
    expect(seen).toHaveLength(3)
  })

  test('send a file with its fields as a form', async () => {
    const { client, seen } = clientOf(() => Response.json({ id: 'bat_1' }, { status: 202 }))
    await client.batches.create({
      product: 'email',
      file: new Blob(['email\n']),
      fileName: 'a.csv',
      mapping: { email: 0 },
      header: true,
      defaultCountry: 'DE',
    })
    const body = seen[0]?.init.body
    expect(body).toBeInstanceOf(FormData)
    const fields = body instanceof FormData ? [...body].filter(([name]) => name !== 'file') : []
    expect(fields).toEqual([
      ['product', 'email'],
      ['default_country', 'DE'],
      ['header', 'true'],
      ['mapping', '{"email":0}'],
    ])
  })

  test('send records as JSON', async () => {
    const { client, seen } = clientOf(() => Response.json({ id: 'bat_1' }, { status: 202 }))
    await client.batches.create({ product: 'email', records: [{ email: 'x' }], start: false })
    const body = seen[0]?.init.body
    expect(JSON.parse(typeof body === 'string' ? body : '')).toEqual({
      product: 'email',
      start: false,
      records: [{ email: 'x' }],
    })
  })

  test('wait until a batch has ended, reporting each response', async () => {
    const at = (status: string) => () => Response.json({ id: 'bat_1', status })
    const { client } = clientOf(at('analyzing'), at('running'), at('completed'))
    const seen: string[] = []
    const onProgress = ({ status }: { status: string }): void => void seen.push(status)
    const batch = await client.batches.wait('bat_1', { everyMs: 1, onProgress })
    expect(batch.status).toBe('completed')
    expect(seen).toEqual(['analyzing', 'running', 'completed'])
  })

  test('send the options of results', async () => {
    const { client, seen } = clientOf(
      () =>
        new Response('row\n', {
          headers: {
            'content-disposition': 'attachment; filename="bat_1.csv"',
            'x-results-complete': 'false',
          },
        }),
    )
    const results = await client.batches.results('bat_1', {
      format: 'csv',
      only: ['risky', 'unknown'],
      after: 7,
      raw: true,
    })
    expect(seen[0]?.url).toBe(
      'http://service.example/v1/batches/bat_1/results?format=csv&only=risky%2Cunknown&after=7&raw=1',
    )
    expect(results).toMatchObject({ complete: false, fileName: 'bat_1.csv' })
    expect(await new Response(results.body).text()).toBe('row\n')
  })

  test('list, start, cancel and delete', async () => {
    const { client, seen } = clientOf(() => Response.json({ id: 'bat_1' }))
    await client.batches.list({ limit: 2, cursor: 'bat_0' })
    await client.batches.start('bat_1')
    await client.batches.cancel('bat_1')
    await client.batches.delete('bat_1')
    expect(seen.map(({ url, init }) => `${init.method} ${new URL(url).pathname}`)).toEqual([
      'GET /v1/batches',
      'POST /v1/batches/bat_1/start',
      'POST /v1/batches/bat_1/cancel',
      'DELETE /v1/batches/bat_1',
    ])
  })
})

test('usage, ledger and keys are requested without omitted options', async () => {
  const { client, seen } = clientOf()
  await client.usage()
  await client.usage({ from: '2026-11-01', by: ['day', 'product'] })
  await client.ledger({ limit: 5, cursor: 'abc' })
  await client.keys()
  expect(seen.map(({ url }) => url.replace('http://service.example', ''))).toEqual([
    '/v1/usage',
    '/v1/usage?from=2026-11-01&by=day%2Cproduct',
    '/v1/ledger?limit=5&cursor=abc',
    '/v1/keys',
  ])
})
