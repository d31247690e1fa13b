import type { UserSession } from '@plumbline/db/people/sessions'
import type { Request, Response } from 'express'
import { expect, test } from 'vitest'
import { isStillAdmitted, type Access } from './access.ts'
import { openRequestContext, type Caller } from './request-context.ts'

type Membership = NonNullable<UserSession['membership']>

const ACCOUNT = 'acc_1'

/** A session that shows an account, as a viewer. */
const MEMBERSHIP: Membership = {
  accountId: ACCOUNT,
  plan: 'pro',
  status: 'active',
  statusReason: null,
  hasTestKeys: true,
  callsPerSecond: null,
  callsBurst: null,
  role: 'viewer',
  requiresFactor: false,
}

test.each<{ now: string; method: string; membership: Partial<Membership> | null; still: boolean }>([
  { now: 'reads as before', method: 'GET', membership: {}, still: true },
  { now: 'asks for headers', method: 'HEAD', membership: {}, still: true },
  { now: 'writes as a member', method: 'POST', membership: { role: 'member' }, still: true },
  { now: 'writes as a viewer', method: 'POST', membership: {}, still: false },
  { now: 'has left the account', method: 'GET', membership: null, still: false },
  { now: 'shows another', method: 'GET', membership: { accountId: 'acc_2' }, still: false },
  { now: 'is suspended', method: 'GET', membership: { status: 'suspended' }, still: false },
])('whether a session that was admitted may go on: one that now $now, $still', async (row) => {
  const membership = row.membership === null ? null : { ...MEMBERSHIP, ...row.membership }
  // Safe because nothing else of a session is looked at.
  const session = { membership } as UserSession
  const access = { sessions: { find: async () => session }, publicUrl: undefined }
  // Safe because nothing else of a request is looked at.
  const req = {
    method: row.method,
    protocol: 'https',
    headers: { cookie: '__Host-plumbline=secret', 'sec-fetch-site': 'same-origin' },
  } as Request
  const res = { req } as Response
  openRequestContext(res).caller = { accountId: ACCOUNT } as Caller
  // Safe because it is only asked for sessions.
  expect(await isStillAdmitted(access as unknown as Access, req, res)).toBe(row.still)
})
