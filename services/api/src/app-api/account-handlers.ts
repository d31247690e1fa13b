import { keyMode } from '@plumbline/contract/app/keys'
import type { AccountSettings } from '@plumbline/contract/app/members'
import { SHOWN_KEY_HEADER } from '@plumbline/contract/app/paths'
import { withoutBidiControls } from '@plumbline/contract/bidi-controls'
import { Problem } from '@plumbline/contract/problem'
import { lockAccount, readPreferences, setPreferences } from '@plumbline/db/accounts'
import { writeAudit } from '@plumbline/db/audit-log'
import { inTransaction, type Db } from '@plumbline/db/database'
import { keyViewOf } from '@plumbline/db/key-view'
import { createAuditedKey, revokeAuditedKey } from '@plumbline/db/key-acts'
import { listKeys } from '@plumbline/db/keys'
import { getUser } from '@plumbline/db/people/users'
import { closeAccount } from '@plumbline/metering/administer'
import { readSpending, setSpending } from '@plumbline/metering/spending'
import { linkTo } from '@plumbline/people/link'
import { requireRole } from '@plumbline/people/membership'
import { requirePassword } from '@plumbline/people/sign-in'
import type { Request } from 'express'
import { accountNameOf, queueForOwners } from '../account-mail.ts'
import { shownAccount, requireSession, type AppHandlers } from './call.ts'

/** Prefix of the names of daily budgets of new keys; the account's id follows. */
export const KEY_BUDGETS = 'keys:'

const KEYS_A_DAY = 50

function tooManyKeys(): Problem {
  return new Problem(
    'too_many_requests',
    `An account may create ${KEYS_A_DAY} keys a day; try again tomorrow.`,
    { retryAfterSeconds: 3_600 },
  )
}

/** Handlers for the shown account: its keys and settings. */
export const ACCOUNT_HANDLERS = {
  listKeys: async ({ ctx }, call) => {
    const { accountId, hasTestKeys } = shownAccount(call)
    const records = await listKeys(ctx.db, accountId)
    return { data: records.map(keyViewOf), test_keys: hasTestKeys }
  },

  createKey: async ({ ctx, people }, call) => {
    const { accountId } = shownAccount(call)
    const { userId } = requireSession(call)
    const { mode } = call.body
    const service = ctx.settings.KEY_PREFIX
    // A key that replaces another is reported to all owners by mail, and stays in the audit log.
    const taken = await people.takeOfDay(`${KEY_BUDGETS}${accountId}`, KEYS_A_DAY)
    if (taken === undefined) throw tooManyKeys()
    const making = inTransaction(ctx.db, async (tx) => {
      const wanted = { accountId, mode, service, shown: shownKey(call.req) }
      const { key, record, replaced } = await createAuditedKey(tx, wanted, userId)
      // Under the lock that it takes: the user may have been removed while it waited for that.
      await requireRole(tx, { accountId, userId }, 'member')
      if (replaced !== null) {
        const { name: byName } = await getUser(tx, userId)
        const accountName = await accountNameOf(tx, accountId)
        const link = linkTo(people, call.visitor, 'keys')
        const { last4 } = record
        await queueForOwners(people, tx, accountId, (to) => ({
          kind: 'key_replaced',
          to,
          accountName,
          mode,
          last4,
          byName,
          link,
        }))
      }
      return { key, record: keyViewOf(record), replaced }
    })
    const made = await making.catch(async (error: unknown) => {
      await taken.giveBack()
      throw error
    })
    people.wakeMail()
    return made
  },

  revokeKey: async ({ ctx }, call) => {
    const { accountId } = shownAccount(call)
    const mode = keyMode.safeParse(call.param('mode')).data
    if (mode === undefined) throw new Problem('not_found', 'A key is live or test.')
    const wanted = { accountId, mode, shown: shownKey(call.req) }
    if (!(await revokeAuditedKey(ctx.db, wanted, requireSession(call).userId))) {
      throw new Problem('not_found', `The account has no active ${mode} key; load the list again.`)
    }
    return undefined
  },

  readAccountSettings: async ({ ctx }, call) =>
    await settingsOf(ctx.db, shownAccount(call).accountId),

  changeAccount: async ({ ctx }, call) => {
    const { accountId } = shownAccount(call)
    const session = requireSession(call)
    const { body } = call
    if (body.requires_second_factor === true && !session.hasFactor) {
      throw new Problem(
        'conflict',
        'Set a second factor of your own before you ask others for one.',
      )
    }
    await inTransaction(ctx.db, async (tx) => {
      await lockAccount(tx, accountId)
      await requireRole(tx, { accountId, userId: session.userId }, 'owner')
      await setPreferences(tx, accountId, {
        name: body.name,
        timeZone: body.time_zone,
        retentionDays: body.retention_days,
        requiresFactor: body.requires_second_factor,
      })
      const { daily_spending_limit: dailyLimit, low_credit_mark: lowMark } = body
      if (dailyLimit !== undefined || lowMark !== undefined) {
        const bounds = {
          ...(dailyLimit === undefined ? {} : { dailyLimit }),
          ...(lowMark === undefined ? {} : { lowMark }),
        }
        await setSpending(tx, { actor: session.userId, accountId, bounds })
      }
      await writeAudit(tx, {
        actor: session.userId,
        action: 'account.settings',
        accountId,
        before: null,
        // The name of an account may be that of a person, so it is not written to the audit log.
        after: { changed: Object.keys(body).toSorted() },
      })
    })
    return await settingsOf(ctx.db, accountId)
  },

  deleteAccount: async ({ ctx, people }, call) => {
    const { accountId } = shownAccount(call)
    const { userId } = requireSession(call)
    const account = await settingsOf(ctx.db, accountId)
    await requirePassword(people, await getUser(ctx.db, userId), call.body.password)
    if (asRead(call.body.confirm_name) !== asRead(account.name)) {
      throw new Problem('unprocessable', 'Type the name of the account as it stands there.')
    }
    await closeAccount(ctx.db, { actor: userId, accountId }, (tx) =>
      requireRole(tx, { accountId, userId }, 'owner'),
    )
    return undefined
  },
} satisfies Partial<AppHandlers>

/**
 * A name as a reader of the page can type it: browsers show several spaces as one, and neither
 * marks of direction, which Arabic and Hebrew names may hold, nor how an accent is encoded.
 */
function asRead(name: string): string {
  return withoutBidiControls(name)
    .replaceAll(/[\s\u200B\uFEFF]+/gu, ' ')
    .trim()
    .normalize('NFC')
}

/** The active key that the page of a request shows; null if none, undefined if it does not say. */
function shownKey(req: Request): string | null | undefined {
  const id = req.get(SHOWN_KEY_HEADER)
  return id === 'none' ? null : id
}

async function settingsOf(db: Db, accountId: string): Promise<AccountSettings> {
  const set = await readPreferences(db, accountId)
  const spending = await readSpending(db, accountId)
  if (set === undefined) throw new Error(`account ${accountId} has a member but does not exist`)
  return {
    id: accountId,
    name: set.name ?? set.email,
    time_zone: set.timeZone,
    retention_days: set.retentionDays,
    daily_spending_limit: spending?.dailyLimit ?? null,
    low_credit_mark: spending?.lowMark ?? null,
    requires_second_factor: set.requiresFactor,
  }
}
