import { APP_API, APP_PATHS, type AppPath } from '@plumbline/contract/app/paths'
import { isAtLeast, ROLES, type Role } from '@plumbline/contract/app/roles'
import { openApiDocument } from '@plumbline/contract/openapi'
import { createAccount } from '@plumbline/db/accounts'
import { inTransaction } from '@plumbline/db/database'
import { createKey } from '@plumbline/db/keys'
import { insertInvitation, listInvitations } from '@plumbline/db/people/invitations'
import { addMember, listMembers } from '@plumbline/db/people/members'
import { insertSession, listSessions, SESSION_IDLE_DAYS } from '@plumbline/db/people/sessions'
import { insertUser } from '@plumbline/db/people/users'
import { closeAccount, suspendAccount } from '@plumbline/metering/administer'
import { createScorer } from '@plumbline/scoring/score'
import { loadWeights } from '@plumbline/scoring/weights'
import { digestOfSecret, newSecret } from '@plumbline/people/secret'
import {
  openApiHarness,
  type ApiHarness,
  type ApiResponse,
  type HarnessAccount,
} from '@plumbline/testkit/api/harness'
import { routesOf } from '../routes.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

// Who may call what, for every operation of the OpenAPI document and every route of the app's own.
// A body of `{}` is sent where one is taken: whoever is let in gets a refusal of the body (400), so
// that nothing is done.

/** One operation, as the two tables describe it. */
interface Operation {
  readonly method: string
  readonly path: string
  /** Who may call the operation: a key or session (`account`), or as in the table of the app. */
  readonly access: 'account' | AppPath['access'] | 'open'
}

const OPERATIONS: readonly Operation[] = [...ofDocument(), ...ofApp()]

function ofDocument(): readonly Operation[] {
  // Safe because it is our own document.
  const { paths } = openApiDocument('A table.') as {
    paths: Readonly<Record<string, Readonly<Record<string, { readonly security?: unknown[] }>>>>
  }
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([method]) => /^(?:get|post|put|patch|delete)$/.test(method))
      .map(([method, { security }]) => ({
        method: method.toUpperCase(),
        path,
        access: security?.length === 0 ? ('open' as const) : ('account' as const),
      })),
  )
}

function ofApp(): readonly Operation[] {
  return Object.values<AppPath>(APP_PATHS).map(({ method, path, access }) => ({
    method,
    path: `${APP_API}${path}`,
    access,
  }))
}

/**
 * The signed-in users: one of each role of our account, a viewer of it who makes no calls, one who
 * has left it, and the owners of another account and of one that is suspended.
 */
type Who = Role | 'quiet' | 'former' | 'other' | 'suspended'

const WHO: readonly Who[] = [...ROLES, 'quiet', 'former', 'other', 'suspended']

let api: ApiHarness
let accountId: string
let others: { accountId: string; live: string }
let suspended: HarnessAccount
/** The key of an account that is closed since. */
let closedKey: string
let keys: { live: string; test: string; revoked: string }
const users: Partial<Record<Who, string>> = {}
/** Ids of objects of our account, by the path segment before them. */
let ours: Readonly<Record<string, string>>
/** Cookies of ended sessions: signed out, unused for too long, and at the maximum age. */
let endedCookies: readonly string[]

beforeAll(async () => {
  api = await openApiHarness({ RATE_LIMIT_BURST: '100000', FAILED_KEYS_PER_MINUTE: '100000' })
  const { db } = api
  const account = await createAccount(db, { email: 'a@company.example', plan: 'pro' })
  accountId = account.id
  const old = await createKey(db, { accountId, mode: 'live', service: 'svc' })
  const live = await createKey(db, { accountId, mode: 'live', service: 'svc' })
  const testKey = await createKey(db, { accountId, mode: 'test', service: 'svc' })
  keys = { live: live.key, test: testKey.key, revoked: old.key }
  const other = await createAccount(db, { email: 'b@company.example', plan: 'pro' })
  const otherKey = await createKey(db, { accountId: other.id, mode: 'live', service: 'svc' })
  others = { accountId: other.id, live: otherKey.key }
  suspended = await api.account({ plan: 'pro' })
  await inTransaction(db, async (tx) => {
    for (const role of WHO) {
      const email = `${role}@company.example`
      const user = await insertUser(tx, {
        name: role,
        email,
        emailKey: email,
        passwordDigest: 'none',
        verified: true,
      })
      if (user === undefined) throw new Error('no such user was made')
      users[role] = user.id
      if (role === 'former') continue
      const ofRole = ROLES.find((each) => each === role) ?? (role === 'quiet' ? 'viewer' : 'owner')
      await addMember(tx, { accountId: shownTo(role), userId: user.id, role: ofRole })
    }
  })
  await suspendAccount(db, { actor: 'test', accountId: suspended.id, reason: null })
  const closed = await api.account()
  closedKey = closed.live
  await closeAccount(db, { actor: 'test', accountId: closed.id })
  ours = await makeOurs()
  endedCookies = await endSessions()
})
afterAll(() => api[Symbol.asyncDispose]())

/** The account that a user's sessions show. */
function shownTo(who: Who): string {
  return who === 'other' ? others.accountId : who === 'suspended' ? suspended.id : accountId
}

/** Makes one object of each kind whose id occurs in a path. */
async function makeOurs(): Promise<Readonly<Record<string, string>>> {
  const make = async (path: string, body: unknown, headers = {}): Promise<string> => {
    const { json, text } = await api.call(path, { key: keys.live, body, headers })
    // Safe because what has none fails here.
    const { id } = json as { id?: string }
    if (id === undefined) throw new Error(`${path} made nothing: ${text}`)
    return id
  }
  const records = [{ email: 'a@example.com' }]
  const owner = { headers: { cookie: await cookieOf('owner'), ...ORIGIN } }
  const asked = await api.call('/v1/erase', { ...owner, body: { email: 'b@example.com' } })
  expect([asked.status, asked.text]).toEqual([202, expect.stringContaining('"id"')])
  const invited = await inTransaction(api.db, (tx) =>
    insertInvitation(tx, {
      accountId,
      email: 'new@company.example',
      emailKey: 'new@company.example',
      role: 'viewer',
      digest: newSecret().digest,
      invitedBy: users.owner ?? '',
    }),
  )
  await cookieOf('quiet')
  const [session] = await listSessions(api.db, users.quiet ?? '')
  return {
    batches: await make('/v1/batches', { product: 'email', records, start: false }),
    lookups: await make('/v1/email', { email: 'a@example.com' }, { prefer: 'respond-async' }),
    webhooks: await make('/v1/webhooks', {
      url: 'https://hooks.example/in',
      events: ['batch.completed'],
    }),
    // Safe because one without fails where it is asked for.
    erase: (asked.json as { id: string }).id,
    invitations: invited.id,
    sessions: session?.id ?? '',
    members: users.quiet ?? '',
  }
}

async function endSessions(): Promise<readonly string[]> {
  const [left, idle, old] = [
    await cookieOf('owner'),
    await cookieOf('owner'),
    await cookieOf('owner'),
  ]
  // One that was used a moment ago would not be idle.
  for (const cookie of [left, old]) {
    expect((await api.call('/v1/account', { headers: { cookie, ...ORIGIN } })).status).toBe(200)
  }
  const { method, path } = APP_PATHS.signOut
  await api.call(`${APP_API}${path}`, { method, body: {}, headers: { cookie: left, ...ORIGIN } })
  const age = async (cookie: string, set: string): Promise<void> => {
    const { rowCount } = await api.db.pool.query(`update sessions set ${set} where digest = $1`, [
      digestOfSecret(cookie.replace('plumbline=', '')),
    ])
    expect(rowCount).toBe(1)
  }
  await age(idle, `used_at = now() - interval '${SESSION_IDLE_DAYS} days'`)
  await age(old, 'ends_at = now()')
  return [left, idle, old]
}

/** A cookie of a new session, since a call may end the session that it uses. */
async function cookieOf(role: Who): Promise<string> {
  const { secret, digest } = newSecret()
  await inTransaction(api.db, (tx) =>
    insertSession(tx, {
      digest,
      userId: users[role] ?? '',
      accountId: shownTo(role),
      network: '192.0.2.1',
      browser: 'test',
      proven: false,
    }),
  )
  return `plumbline=${secret}`
}

const ORIGIN = { 'sec-fetch-site': 'same-origin' }

type Identity = { readonly key?: string; readonly headers?: Readonly<Record<string, string>> }

/** Calls an operation with ids that do not exist, so that an admitted call changes nothing. */
async function call(
  { method, path }: Operation,
  { key, headers = {} }: Identity,
  named: Readonly<Record<string, string>> = {},
): Promise<ApiResponse> {
  const filled = path
    .replace(
      /\{(\w+)\}|:(\w+)/g,
      (_met, one?: string, two?: string) => named[one ?? two ?? ''] ?? 'none_0',
    )
    .replace('/batches/none_0', '/batches/bat_0')
  const takesBody = method === 'POST' || method === 'PATCH' || path.endsWith('/account')
  return await api.call(filled, {
    method,
    ...(key === undefined ? {} : { key }),
    ...(takesBody && method !== 'GET' ? { body: {} } : {}),
    headers: { ...ORIGIN, ...headers },
  })
}

const REFUSED: readonly number[] = [401, 403]

describe.each(OPERATIONS.map((one) => ({ name: `${one.method} ${one.path}`, one })))(
  '$name',
  ({ one }) => {
    const isOpen = one.access === 'open' || one.access === 'anybody'
    const isApp = one.path.startsWith(APP_API)

    test('calls without key or session, with a revoked key or an ended session get 401', async () => {
      const ended = [`plumbline=${newSecret().secret}`, ...endedCookies]
      const identities = ended.map((cookie) => ({ headers: { cookie } }))
      for (const identity of [{}, { key: keys.revoked }, ...identities]) {
        const { status } = await call(one, identity)
        if (isOpen) expect(status).not.toBe(401)
        else expect(status).toBe(401)
      }
    })

    test("keys are accepted for data of the account, and not for a user's own", async () => {
      for (const key of [keys.live, keys.test]) {
        const { status } = await call(one, { key })
        const isRefused = one.access !== 'account' && !isOpen
        expect(REFUSED.includes(status)).toBe(isRefused)
      }
    })

    test.each(['owner', 'member', 'viewer'] as const)('%s: as the role allows', async (role) => {
      const { status } = await call(one, { headers: { cookie: await cookieOf(role) } })
      expect(REFUSED.includes(status)).toBe(!mayCall(one, role))
    })

    test('a former member is refused whatever is not their own', async () => {
      const { status } = await call(one, { headers: { cookie: await cookieOf('former') } })
      if (isOpen || one.access === 'user') expect(REFUSED).not.toContain(status)
      else expect(status).toBe(403)
    })

    test('keys and members of a suspended account are refused all that is not of the app', async () => {
      const { live, test: testKey } = suspended
      const cookie = await cookieOf('suspended')
      for (const identity of [{ key: live }, { key: testKey }, { headers: { cookie } }]) {
        const { status } = await call(one, identity)
        if (!isApp) expect(status === 403).toBe(!isOpen)
        // Their owner may look at it, and leave.
        else if (identity.key !== undefined) expect(REFUSED.includes(status)).toBe(!isOpen)
        else expect(status === 403).toBe(one.method !== 'GET' && !isOpen && one.access !== 'user')
      }
    })

    test('a key of a closed account is refused', async () => {
      const { status } = await call(one, { key: closedKey })
      if (isOpen) expect(status).not.toBe(401)
      else expect(status).toBe(401)
    })

    test('a session is refused on calls from another site', async () => {
      if (one.method === 'GET' || one.access === 'open') return
      const headers = { cookie: await cookieOf('owner'), 'sec-fetch-site': 'cross-site' }
      expect((await call(one, { headers })).status).toBe(403)
    })

    test('data of this account is not found by others', async () => {
      const kind = /\/(\w+)\/[{:]id/.exec(one.path)?.[1]
      if (kind === undefined || isOpen) return
      const id = ours[kind]
      if (id === undefined) throw new Error(`nothing of ours stands in ${one.path}`)
      if (one.method === 'GET' && /id\}?$/.test(one.path)) {
        const own = await call(one, { headers: { cookie: await cookieOf('owner') } }, { id })
        expect([one.path, own.status]).toEqual([one.path, 200])
      }
      const cookie = await cookieOf('other')
      const asked = [await call(one, { headers: { cookie } }, { id })]
      if (!isApp) asked.push(await call(one, { key: others.live }, { id }))
      for (const { status, text } of asked) {
        expect([400, 404]).toContain(status)
        expect(text).not.toContain(id)
      }
    })
  },
)

test('nothing of this account was changed by others', async () => {
  const headers = { cookie: await cookieOf('owner') }
  const { text } = await api.call('/v1/webhooks', { headers })
  expect(text).toContain(ours['webhooks'])
  expect(await listSessions(api.db, users.quiet ?? '')).toMatchObject([{ id: ours['sessions'] }])
  const [invitation] = await listInvitations(api.db, accountId)
  expect(invitation).toMatchObject({ id: ours['invitations'], role: 'viewer' })
  const members = await listMembers(api.db, accountId)
  expect(members).toContainEqual(
    expect.objectContaining({ userId: ours['members'], role: 'viewer' }),
  )
})

/** Whether a role may call an operation, by the two tables. */
function mayCall({ access, method, path }: Operation, role: Role): boolean {
  // The id in its path is not their own: members and viewers take out themselves alone.
  if (method === 'DELETE' && path.endsWith('/members/:id')) return role === 'owner'
  // What is erased cannot be brought back: owners decide.
  if (method === 'POST' && path === '/v1/erase') return role === 'owner'
  switch (access) {
    case 'open':
    case 'anybody':
    case 'user':
      return true
    case 'account':
      return method === 'GET' || role !== 'viewer'
    default:
      return isAtLeast(role, access)
  }
}

test('every served path is in one of the two tables', async () => {
  const known = new Set(OPERATIONS.map(({ path }) => path.replace(/\{(\w+)\}/g, ':$1')))
  // Safe because paths are made of nothing that a context has.
  const scorer = createScorer(await loadWeights(undefined))
  const ctx = { settings: {}, access: {}, scorer } as unknown as Parameters<typeof routesOf>[0]
  const served = routesOf(ctx, () => undefined)
  // Its tools call the others, each with the key of the request.
  known.add('/mcp')
  expect(served.map(({ path }) => path).filter((path) => !known.has(path))).toEqual([])
})
