import { expect, test } from 'vitest'
import { actInWords } from './audit-words.ts'

const PEOPLE = new Map([['usr_1', 'ada@one.example']])
const LIMITS = { calls_per_second: null, upload_rows: 10 }

test.each([
  [
    'account.plan',
    { plan: 'free', next_plan: null },
    { plan: 'pro', next_plan: null, granted: 24_800 },
    'Plan free became pro; 24800 credits added.',
  ],
  [
    'account.plan',
    { plan: 'pro', next_plan: null },
    { plan: 'pro', next_plan: 'free', granted: 0 },
    'Plan pro becomes free with the next cycle.',
  ],
  [
    'account.limits',
    LIMITS,
    { ...LIMITS, calls_per_second: 7 },
    'Limits: calls a second none became 7.',
  ],
  ['account.limits', LIMITS, LIMITS, 'Limits: nothing differs.'],
  [
    'account.settings',
    null,
    { changed: ['name', 'low_credit_mark'] },
    'Settings changed: name, low-credit mark.',
  ],
  ['account.suspend', {}, { status: 'suspended', reason: 'unpaid' }, 'Account suspended: unpaid'],
  ['key.create', { mode: 'live' }, { mode: 'live' }, 'Live key made, the one before revoked.'],
  ['key.revoke', { mode: 'test' }, null, 'Test key revoked.'],
  ['member.add', null, { user_id: 'usr_1', role: 'viewer' }, 'ada@one.example joined as viewer.'],
  ['member.invite', { invitation_id: 'x' }, null, 'Invitation withdrawn.'],
  ['member.remove', { user_id: 'usr_gone' }, null, 'usr_gone removed.'],
  [
    'user.sign_out',
    { user_id: null, sessions: 4 },
    { user_id: null },
    'Sessions of everybody ended: 4.',
  ],
  [
    'plan.change',
    { plan: 'big', price_cents: 24_990, is_offered: true },
    { plan: 'big', price_cents: null, is_offered: false },
    'Plan big: price $249.90 became none; shown to customers yes became no.',
  ],
  ['pack.change', null, { pack: 'small', credits: 100 }, 'Pack small made.'],
  ['what.ever', { some_thing: [1] }, { some_thing: [2] }, 'what.ever: some thing [1] became [2].'],
  ['constructor', null, null, 'constructor: nothing differs.'],
])('%s is described by a sentence (%#)', (action, before, after, sentence) => {
  expect(actInWords({ action, before, after }, PEOPLE)).toBe(sentence)
})
