import { setOperator } from '@plumbline/db/people/users'
import { enqueue } from '@plumbline/queue/jobs'
import { openRedisQueues } from '@plumbline/queue/redis-queues'
import { openBrowser, type TestBrowser } from '@plumbline/testkit/api/browser'
import { openApiHarness, type ApiHarness } from '@plumbline/testkit/api/harness'
import { startRedis } from '@plumbline/testkit/redis'
import { WITHOUT_REDIS } from '@plumbline/testkit/without-redis'
import { expect, test } from 'vitest'

const SUBJECT = 'marked.subject@hidden.example'

async function newUser(api: ApiHarness, email: string, isOperator: boolean): Promise<TestBrowser> {
  const browser = openBrowser(api)
  await browser.app('signUp', { name: 'Ada', email, password: 'tidal lantern cactus seven' })
  const { json: answer } = await browser.app('readSession')
  const { user } = answer
  if (isOperator && user !== null) {
    await api.db.kysely.transaction().execute((tx) => setOperator(tx, user.id, true))
  }
  return browser
}

async function ask(
  api: ApiHarness,
  { cookie }: { readonly cookie: string },
  path: string,
  init: RequestInit = {},
): Promise<{ readonly status: number; readonly text: string; readonly headers: Headers }> {
  const response = await fetch(`${api.adminUrl}/operator/board${path}`, {
    headers: { cookie, 'sec-fetch-site': 'same-origin' },
    redirect: 'manual',
    ...init,
  })
  return { status: response.status, text: await response.text(), headers: response.headers }
}

// The board shows queues on Redis alone; with CI=true the run fails where there is none.
test.skipIf(WITHOUT_REDIS)(
  'on Redis the board shows an operator the queues without subjects, and cannot change them',
  async () => {
    await using stack = new AsyncDisposableStack()
    const redis = await startRedis()
    if (redis === null) throw new Error('redis-server is not installed')
    stack.defer(() => redis.stop())
    const api = stack.use(await openApiHarness({ REDIS_URL: redis.url }))
    const queues = stack.use(await openRedisQueues({ redisUrl: redis.url, onError: () => {} }))
    // Nobody works on this queue here.
    await enqueue(queues, 'intake', [{ id: 'job-1', data: { questions: SUBJECT } }])
    const operator = await newUser(api, 'ada@one.example', true)
    const stranger = await newUser(api, 'eve@two.example', false)

    const board = await ask(api, operator, '/')
    expect([board.status, board.text]).toEqual([200, expect.stringContaining('/operator/board/')])
    expect(board.headers.get('content-security-policy')).toContain("script-src 'self';")
    const script = /static\/js\/main\.\w+\.js/.exec(board.text)?.[0] ?? ''
    expect((await ask(api, operator, `/${script}`)).headers.get('content-type')).toContain('script')

    const list = await ask(api, operator, '/api/queues?activeQueue=intake&jobsPerPage=10')
    const one = await ask(api, operator, '/api/queues/intake/job-1')
    for (const { status, text } of [list, one]) {
      expect([status, text]).toEqual([200, expect.stringContaining('"id":"job-1"')])
      expect(text).toContain('not shown')
      expect(text).not.toContain(SUBJECT)
    }
    expect(list.text).toContain('live-email')
    for (const more of ['logs', 'flow']) {
      const { text } = await ask(api, operator, `/api/queues/intake/job-1/${more}`)
      expect(text).not.toContain(SUBJECT)
    }

    for (const [method, path] of [
      ['PUT', '/api/queues/pause'],
      ['PUT', '/api/queues/intake/job-1/clean'],
      ['PUT', '/api/queues/intake/obliterate'],
      ['PATCH', '/api/queues/intake/job-1/update-data'],
      ['POST', '/api/queues/intake/add'],
    ] as const) {
      expect([path, (await ask(api, operator, path, { method })).status]).toEqual([path, 403])
    }
    expect(await (await queues.producer('intake')).state('job-1')).toBe('waiting')

    expect((await ask(api, operator, '/api/queues?jobsPerPage=101')).status).toBe(400)
    expect((await ask(api, operator, '/api/queues?jobsPerPage=1&jobsPerPage=1e9')).status).toBe(400)
    expect((await ask(api, stranger, '/api/queues')).status).toBe(403)
    expect((await ask(api, { cookie: '' }, '/')).status).toBe(401)
    const foreign = { headers: { cookie: operator.cookie, 'sec-fetch-site': 'cross-site' } }
    expect((await ask(api, operator, '/api/queues', foreign)).status).toBe(403)
  },
)

test('on Postgres a message says where the queues are shown', async () => {
  await using api = await openApiHarness()
  const operator = await newUser(api, 'ada@one.example', true)
  const { status, text } = await ask(api, operator, '')
  expect([status, text]).toEqual([200, expect.stringContaining('these are on Postgres')])
})
