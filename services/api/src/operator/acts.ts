import {
  CREDITS_MAX,
  KEY_MODES,
  OWN_LIMITS,
  SUSPENSION_REASON_CHARS,
  type OwnLimits,
} from '@plumbline/contract/plans'
import { Problem } from '@plumbline/contract/problem'
import { inTransaction, type Db } from '@plumbline/db/database'
import { roleOf } from '@plumbline/db/people/members'
import { createAuditedKey, revokeAuditedKey } from '@plumbline/db/key-acts'
import {
  closeAccount,
  giveCredits,
  givePack,
  limitAccount,
  moveToPlan,
  resumeAccount,
  suspendAccount,
  type Act,
  type Granted,
} from '@plumbline/metering/administer'
import { setSpending } from '@plumbline/metering/spending'
import { signOutPeople } from '@plumbline/people/sign-out'
import { ACCOUNT_FIELDS as FIELDS } from './fields.ts'
import { choiceOf, numberOf, ownLimitOf, requiredNumberOf, textOf, type Form } from './form.ts'

/** An act on one account, and the prefix of the installation's keys, for example `svc`. */
export interface AccountAct extends Act {
  readonly service: string
}

/** Performs an act and returns a message about its result. */
export type OperatorAct = (db: Db, act: AccountAct, form: Form) => Promise<string>

/** Acts on an account, by the last part of their path. */
export const OPERATOR_ACTS: Readonly<Record<string, OperatorAct>> = {
  plan: async (db, act, form) => {
    const change = await moveToPlan(db, { ...act, plan: textOf(form, FIELDS.plan) })
    return change.nextPlan === null
      ? `The account is on ${change.plan}; ${change.granted} credits were added.`
      : `The account moves to ${change.nextPlan} with its next cycle.`
  },
  pack: async (db, act, form) =>
    grantSaid(
      await givePack(db, { ...act, pack: textOf(form, FIELDS.pack), sourceRef: sourceRefOf(form) }),
    ),
  grant: async (db, act, form) => {
    const credits = requiredNumberOf(form, FIELDS.credits, { max: CREDITS_MAX })
    return grantSaid(await giveCredits(db, { ...act, credits, sourceRef: sourceRefOf(form) }))
  },
  limits: async (db, act, form) => {
    const limits = Object.fromEntries(OWN_LIMITS.map((name) => [name, ownLimitOf(form, name)]))
    await limitAccount(db, { ...act, limits: asLimits(limits) })
    return 'The limits are set.'
  },
  spending: async (db, { actor, accountId }, form) => {
    const bounds = {
      dailyLimit: numberOf(form, FIELDS.dailyLimit, { min: 0, max: CREDITS_MAX }),
      lowMark: numberOf(form, FIELDS.lowMark, { max: CREDITS_MAX }),
    }
    await setSpending(db, { actor, accountId, bounds })
    return 'The daily limit and the low-credit mark are set.'
  },
  'create-key': async (db, { actor, accountId, service }, form) => {
    const wanted = { accountId, service, mode: choiceOf(form, FIELDS.mode, KEY_MODES) }
    const { key } = await inTransaction(db, (tx) => createAuditedKey(tx, wanted, actor))
    return `The key is ${key}: it is shown only now, and the one before is revoked.`
  },
  'revoke-key': async (db, { actor, accountId }, form) => {
    const mode = choiceOf(form, FIELDS.mode, KEY_MODES)
    return (await revokeAuditedKey(db, { accountId, mode }, actor))
      ? `The ${mode} key is revoked; it is refused within a second.`
      : `The account has no active ${mode} key.`
  },
  'sign-out': async (db, { actor, accountId }, form) => {
    const userId = textOf(form, FIELDS.user)
    if ((await roleOf(db, accountId, userId)) === undefined) {
      throw new Problem('bad_request', 'The account has no such member; load the page again.')
    }
    return signedOut(await signOutPeople(db, { actor, userId }))
  },
  suspend: async (db, act, form) => {
    const reason = (form.get('reason') ?? '').trim()
    if (reason.length > SUSPENSION_REASON_CHARS) {
      throw new Problem(
        'bad_request',
        `A reason has ${SUSPENSION_REASON_CHARS} characters at most.`,
      )
    }
    await suspendAccount(db, { ...act, reason: reason === '' ? null : reason })
    return 'The account is suspended: its calls are refused and its batches wait.'
  },
  resume: async (db, act) => {
    await resumeAccount(db, act)
    return 'The account is active.'
  },
  close: async (db, act, form) => {
    if (textOf(form, FIELDS.confirm).trim() !== act.accountId) {
      throw new Problem('bad_request', 'Type the id of the account to close it.')
    }
    await closeAccount(db, act)
    return 'The account is closed: its keys and sessions have ended, its data are being erased.'
  },
}

/** The message after ending sessions. */
export function signedOut(count: number): string {
  return `${count} ${count === 1 ? 'session has' : 'sessions have'} ended.`
}

function grantSaid({ granted, credits }: Granted): string {
  return granted
    ? `${credits} credits were added.`
    : 'Nothing was added: this form was sent before.'
}

function sourceRefOf(form: Form): string {
  const ref = form.get('ref') ?? ''
  if (/^[0-9a-f-]{36}$/.test(ref)) return `operator:${ref}`
  throw new Problem('bad_request', 'The form lacks a field; load the page again.')
}

/** Safe because the names are those of the table, each with a number or null. */
function asLimits(values: Readonly<Record<string, number | null>>): OwnLimits {
  return values as OwnLimits
}
