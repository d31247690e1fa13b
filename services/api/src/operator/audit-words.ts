import type { AuditEntry } from '@plumbline/db/audit-log'
import { LIMIT_LABELS } from './fields.ts'

/** The state before or after a change, by the names in the log. */
type Facts = Readonly<Record<string, unknown>>

/** One act, with the users whose ids are known. */
interface Change {
  readonly before: Facts
  readonly after: Facts
  readonly isNew: boolean
  readonly isGone: boolean
  readonly user: string
}

/** Fields of accounts, plans and packs in words; other names are shown as they are. */
const NAMES: Readonly<Record<string, string>> = {
  ...LIMIT_LABELS,
  daily_limit: 'credits a day at most',
  low_mark: 'low-credit mark',
  daily_spending_limit: 'credits a day at most',
  low_credit_mark: 'low-credit mark',
  requires_second_factor: 'second factor of members',
  retention_days: 'how long results are kept',
  monthly_credits: 'credits a month',
  price_cents: 'price',
  is_offered: 'shown to customers',
  position: 'place in lists',
}

const SENTENCES: Readonly<Record<string, (change: Change) => string>> = {
  'account.create': ({ after }) => `Account made on plan ${say(after['plan'])}.`,
  'account.plan': ({ before, after }) =>
    after['next_plan'] == null
      ? `Plan ${say(before['plan'])} became ${say(after['plan'])}; ${say(after['granted'])} credits added.`
      : `Plan ${say(before['plan'])} becomes ${say(after['next_plan'])} with the next cycle.`,
  'account.pack': ({ after }) => granted('Pack', after),
  'account.grant': ({ after }) => granted('Goodwill', after),
  'account.hand_over': ({ user }) => `Account handed over to ${user}.`,
  'account.settings': ({ after }) =>
    `Settings changed: ${list(after['changed']).map(nameOf).join(', ')}.`,
  'account.limits': (change) => `Limits: ${changes(change)}.`,
  'account.spending': (change) => `Spending: ${changes(change)}.`,
  'account.suspend': ({ after }) =>
    after['reason'] == null ? 'Account suspended.' : `Account suspended: ${say(after['reason'])}`,
  'account.resume': () => 'Account active again.',
  'account.close': () => 'Account closed for good.',
  'installation_key.change': () => 'Installation key changed.',
  'key.create': ({ after, isNew }) =>
    `${capital(say(after['mode']))} key made${isNew ? '' : ', the one before revoked'}.`,
  'key.revoke': ({ before }) => `${capital(say(before['mode']))} key revoked.`,
  'member.add': ({ after, user }) => `${user} joined as ${say(after['role'])}.`,
  'member.invite': ({ after, isGone }) =>
    isGone ? 'Invitation withdrawn.' : `Somebody invited as ${say(after['role'])}.`,
  'member.remove': ({ user }) => `${user} removed.`,
  'member.role': ({ before, after, user }) =>
    `${user}: ${say(before['role'])} became ${say(after['role'])}.`,
  'user.link': ({ user }) => `Link to sign in made for ${user}.`,
  'user.operator': ({ after, user }) =>
    after['is_operator'] === true ? `${user} made operator.` : `${user} is operator no more.`,
  'user.sign_out': ({ before, after, user }) => {
    const whose = after['user_id'] == null ? 'everybody' : user
    return `Sessions of ${whose} ended: ${say(before['sessions'])}.`
  },
  'plan.change': (change) => offer('Plan', change),
  'pack.change': (change) => offer('Pack', change),
}

/**
 * An entry of the audit log as a sentence.
 *
 * @param people addresses of users by their id; deleted users are shown by id
 */
export function actInWords(
  { action, before, after }: Pick<AuditEntry, 'action' | 'before' | 'after'>,
  people: ReadonlyMap<string, string>,
): string {
  const change = {
    before: factsOf(before),
    after: factsOf(after),
    isNew: before === null,
    isGone: after === null,
  }
  const id = change.after['user_id'] ?? change.before['user_id']
  const user = typeof id === 'string' ? (people.get(id) ?? id) : 'somebody'
  const sentence = Object.hasOwn(SENTENCES, action) ? SENTENCES[action] : undefined
  return sentence?.({ ...change, user }) ?? `${action}: ${changes(change)}.`
}

/** Ids of users that an act names, besides who did it. */
export function peopleOf({
  before,
  after,
}: Pick<AuditEntry, 'before' | 'after'>): readonly string[] {
  return [before, after].flatMap((facts) => {
    const id = factsOf(facts)['user_id']
    return typeof id === 'string' ? [id] : []
  })
}

function granted(what: string, { granted: credits, packs }: Facts): string {
  return `${what}: ${say(credits)} credits added; ${say(packs)} of packs and goodwill now.`
}

function offer(what: string, change: Change): string {
  const name = say(change.after[what.toLowerCase()])
  return change.isNew ? `${what} ${name} made.` : `${what} ${name}: ${changes(change)}.`
}

/** The changed facts by name, with old and new value. */
function changes({ before, after }: Pick<Change, 'before' | 'after'>): string {
  const names = Object.keys({ ...before, ...after })
  const differing = names.filter((name) => say(before[name]) !== say(after[name]))
  const parts = differing.map((name) => {
    const as = (value: unknown): string =>
      name === 'price_cents' && typeof value === 'number'
        ? `$${(value / 100).toFixed(2)}`
        : say(value)
    return `${nameOf(name)} ${as(before[name])} became ${as(after[name])}`
  })
  return parts.length === 0 ? 'nothing differs' : parts.join('; ')
}

function nameOf(name: string): string {
  const words = Object.hasOwn(NAMES, name) ? NAMES[name] : undefined
  return words?.replace(/^[A-Z]/, (letter) => letter.toLowerCase()) ?? name.replaceAll('_', ' ')
}

function say(value: unknown): string {
  if (value === null || value === undefined) return 'none'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

function list(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(say) : []
}

function factsOf(value: AuditEntry['before']): Facts {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return {}
  return { ...value }
}
