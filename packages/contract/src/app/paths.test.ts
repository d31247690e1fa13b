import { expect, test } from 'vitest'
import { APP_PATHS, type AppAccess, type AppPath } from './paths.ts'

/** The routes of the table for which this is true. */
function routesThat(isSo: (row: AppPath) => boolean): readonly string[] {
  return Object.entries<AppPath>(APP_PATHS).flatMap(([name, row]) => (isSo(row) ? [name] : []))
}

test.each<[AppAccess, readonly string[]]>([
  [
    'anybody',
    [
      'readSession',
      'signUp',
      'signIn',
      'signOut',
      'welcome',
      'verify',
      'resendVerification',
      'beginReset',
      'confirmReset',
      'lookAtInvitation',
    ],
  ],
  [
    'user',
    [
      'changeUser',
      'changePassword',
      'changeEmail',
      'listSessions',
      'endSession',
      'signOutEverywhere',
      'beginSecondFactor',
      'confirmSecondFactor',
      'disableSecondFactor',
      'stepUp',
      'acceptInvitation',
      'switchAccount',
    ],
  ],
  // A member leaves with `removeMember`, and removes nobody else.
  ['viewer', ['listKeys', 'readAccountSettings', 'listMembers', 'removeMember']],
  ['member', ['createKey', 'revokeKey']],
  [
    'owner',
    [
      'changeAccount',
      'deleteAccount',
      'handOverAccount',
      'changeMember',
      'invite',
      'withdrawInvitation',
    ],
  ],
])('the least who may use a route of the app: %s', (access, names) => {
  expect(routesThat((row) => row.access === access)).toEqual(names)
})

test('the second factor is shown again for what gives or takes access, and for what cannot be undone', () => {
  expect(routesThat(({ proof }) => proof === true)).toEqual([
    'changePassword',
    'changeEmail',
    'createKey',
    'revokeKey',
    'changeAccount',
    'deleteAccount',
    'handOverAccount',
    'changeMember',
    'removeMember',
    'invite',
  ])
})
