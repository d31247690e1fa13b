import { APP_API, APP_PATHS } from '@plumbline/contract/app/paths'
import { ROLES } from '@plumbline/contract/app/roles'
import { inTransaction } from '@plumbline/db/database'
import { createKey } from '@plumbline/db/keys'
import { addMember } from '@plumbline/db/people/members'
import { insertSession } from '@plumbline/db/people/sessions'
import { beginFactor, confirmFactor, insertUser, setOperator } from '@plumbline/db/people/users'
import { digestOfSecret, newSecret } from '@plumbline/people/secret'
import { openApiHarness, type ApiHarness } from '@plumbline/testkit/api/harness'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { OPERATOR_ACTS } from './acts.ts'
import { BOARD_PATH } from './bull-board.ts'
import { operatorPages } from './operator-pages.ts'

// Who may call what on the admin port: every route that the pages serve, read from their router.
// Forms are sent empty, so that the operator is admitted and the form then refused, or does what
// can be done again.

interface Route {
  readonly method: string
  readonly path: string
}

/** Paths open to everybody, since they contain no data of anybody. */
const OPEN: readonly string[] = ['/operator/style.css']

const ROUTES: readonly Route[] = [
  ...routesOf().flatMap(({ method, path }) =>
    path.endsWith('/:act')
      ? Object.keys(OPERATOR_ACTS).map((act) => ({ method, path: path.replace(':act', act) }))
      : [{ method, path }],
  ),
  { method: 'GET', path: BOARD_PATH },
  { method: 'GET', path: `${BOARD_PATH}/api/queues` },
].filter(({ path }) => !OPEN.includes(path))

/** The routes of the pages, from the router that serves them. */
function routesOf(): readonly Route[] {
  // Safe because a route reads its context when it is called, and none is.
  const ctx = {} as Parameters<typeof operatorPages>[0]
  return operatorPages(ctx).router.stack.flatMap(({ route }) =>
    route === undefined
      ? []
      : route.stack.map(({ method }) => ({ method: method.toUpperCase(), path: route.path })),
  )
}

let api: ApiHarness
let accountId: string
let keys: readonly string[]
const users = new Map<string, string>()

beforeAll(async () => {
  api = await openApiHarness({ FAILED_KEYS_PER_MINUTE: '100000' })
  const account = await api.account({ plan: 'pro' })
  accountId = account.id
  const old = await createKey(api.db, { accountId, mode: 'live', service: 'svc' })
  const live = await createKey(api.db, { accountId, mode: 'live', service: 'svc' })
  keys = [live.key, account.test, old.key]
  await inTransaction(api.db, async (tx) => {
    for (const name of [...ROLES, 'operator', 'careful operator']) {
      const email = `${name.replace(' ', '.')}@company.example`
      const account = { name, email, emailKey: email, passwordDigest: 'none', verified: true }
      const user = await insertUser(tx, account)
      if (user === undefined) throw new Error('no such user was made')
      users.set(name, user.id)
      const role = ROLES.find((each) => each === name) ?? 'viewer'
      await addMember(tx, { accountId, userId: user.id, role })
    }
    await setOperator(tx, users.get('operator') ?? '', true)
    const careful = users.get('careful operator') ?? ''
    await setOperator(tx, careful, true)
    await beginFactor(tx, careful, 'the encrypted secret, which nobody reads')
    await confirmFactor(tx, careful, [digestOfSecret('a code')])
  })
})
afterAll(() => api[Symbol.asyncDispose]())

async function cookieOf(name: string): Promise<string> {
  const { secret, digest } = newSecret()
  const userId = users.get(name) ?? ''
  const from = { network: '192.0.2.1', browser: 'test', proven: false }
  await inTransaction(api.db, (tx) => insertSession(tx, { digest, userId, accountId, ...from }))
  return `plumbline=${secret}`
}

async function ask(
  { method, path }: Route,
  headers: Readonly<Record<string, string>>,
): Promise<{ readonly status: number; readonly text: string }> {
  const other = await api.account({ plan: 'free' })
  const filled = path.replace(':id', other.id).replace(':name', 'none')
  const response = await fetch(`${api.adminUrl}${filled}`, {
    method,
    headers: { 'sec-fetch-site': 'same-origin', ...headers },
    ...(method === 'POST' ? { body: new URLSearchParams() } : {}),
  })
  return { status: response.status, text: await response.text() }
}

describe.each(ROUTES.map((route) => ({ name: `${route.method} ${route.path}`, route })))(
  '$name',
  ({ route }) => {
    test('calls without a session, or with a key, are told to sign in', async () => {
      const asked = [await ask(route, {})]
      for (const key of keys) asked.push(await ask(route, { authorization: `Bearer ${key}` }))
      expect(asked.map(({ status }) => status)).toEqual(asked.map(() => 401))
    })

    test('an ended session is refused', async () => {
      const cookie = await cookieOf('operator')
      const { method, path } = APP_PATHS.signOut
      const headers = { cookie, 'sec-fetch-site': 'same-origin' }
      await api.call(`${APP_API}${path}`, { method, body: {}, headers })
      expect((await ask(route, { cookie })).status).toBe(401)
    })

    test.each(ROLES)('the %s of an account is no operator', async (role) => {
      expect((await ask(route, { cookie: await cookieOf(role) })).status).toBe(403)
    })

    test('the operator is admitted; acts only from a page of this port', async () => {
      const cookie = await cookieOf('operator')
      if (route.method !== 'GET') {
        const foreign = await ask(route, { cookie, 'sec-fetch-site': 'same-site' })
        expect(foreign.status).toBe(403)
      }
      expect([401, 403]).not.toContain((await ask(route, { cookie })).status)
    })

    test('an operator with a second factor acts only soon after it was shown', async () => {
      const { status } = await ask(route, { cookie: await cookieOf('careful operator') })
      expect(status === 403).toBe(route.method !== 'GET')
      expect(status).not.toBe(401)
    })

    test('no operator page is on the public port', async () => {
      const headers = { cookie: await cookieOf('operator'), 'sec-fetch-site': 'same-origin' }
      const { status } = await api.call(route.path, { method: route.method, headers })
      expect(status).toBe(404)
    })
  },
)
