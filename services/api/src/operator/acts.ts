import { OWN_LIMITS, type OwnLimits } from '@plumbline/contract/plans'
import { Problem } from '@plumbline/contract/problem'
import type { Db } from '@plumbline/db/database'
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

/** What a form sent: each field once. */
export type Form = ReadonlyMap<string, string>

/** Does one act and says what came of it. */
export type OperatorAct = (db: Db, act: Act, form: Form) => Promise<string>

const CREDITS_MAX = 1_000_000_000
const LIMIT_MAX = 2_147_483_647
const REASON_MAX_CHARS = 500

/** What can be done to an account, by the last part of its path. */
export const OPERATOR_ACTS: Readonly<Record<string, OperatorAct>> = {
  plan: async (db, act, form) => {
    const change = await moveToPlan(db, { ...act, plan: textOf(form, 'plan') })
    return change.nextPlan === null
      ? `The account is on ${change.plan}; ${change.granted} credits were added.`
      : `The account moves to ${change.nextPlan} with its next cycle.`
  },
  pack: async (db, act, form) =>
    grantSaid(
      await givePack(db, { ...act, pack: textOf(form, 'pack'), sourceRef: sourceRefOf(form) }),
    ),
  grant: async (db, act, form) => {
    const credits = numberOf(form, 'credits', CREDITS_MAX)
    if (credits === null) throw new Problem('bad_request', 'Say how many credits.')
    return grantSaid(await giveCredits(db, { ...act, credits, sourceRef: sourceRefOf(form) }))
  },
  limits: async (db, act, form) => {
    const limits = Object.fromEntries(
      OWN_LIMITS.map((name) => [name, numberOf(form, name, LIMIT_MAX)]),
    )
    await limitAccount(db, { ...act, limits: asLimits(limits) })
    return 'The limits are set.'
  },
  suspend: async (db, act, form) => {
    const reason = (form.get('reason') ?? '').trim()
    if (reason.length > REASON_MAX_CHARS) {
      throw new Problem('bad_request', `A reason has ${REASON_MAX_CHARS} characters at most.`)
    }
    await suspendAccount(db, { ...act, reason: reason === '' ? null : reason })
    return 'The account is suspended: its calls are refused and its batches rest.'
  },
  resume: async (db, act) => {
    await resumeAccount(db, act)
    return 'The account is active.'
  },
  close: async (db, act, form) => {
    if (textOf(form, 'confirm').trim() !== act.accountId) {
      throw new Problem('bad_request', 'Type the id of the account to close it.')
    }
    await closeAccount(db, act)
    return 'The account is closed: its keys and sessions have ended, its data are being erased.'
  },
}

function grantSaid({ granted, credits }: Granted): string {
  return granted
    ? `${credits} credits were added.`
    : 'Nothing was added: this form was sent before.'
}

function textOf(form: Form, name: string): string {
  const value = form.get(name)
  if (value !== undefined && value !== '') return value
  throw new Problem('bad_request', `The field ${name} is empty.`)
}

/** A whole number from 1; null where the field is empty. */
function numberOf(form: Form, name: string, max: number): number | null {
  const text = (form.get(name) ?? '').trim()
  if (text === '') return null
  const value = /^\d{1,10}$/.test(text) ? Number(text) : 0
  if (value >= 1 && value <= max) return value
  throw new Problem('bad_request', `${name} is a whole number from 1 to ${max}, or empty.`)
}

function sourceRefOf(form: Form): string {
  const ref = form.get('ref') ?? ''
  if (/^[0-9a-f-]{36}$/.test(ref)) return `operator:${ref}`
  throw new Problem('bad_request', 'The form is not whole; load the page again.')
}

/** Safe because the names are those of the table, each with a number or null. */
function asLimits(values: Readonly<Record<string, number | null>>): OwnLimits {
  return values as OwnLimits
}
