import type { Json, Signal } from './outcome.ts'

/**
 * Every signal by its group. Signals of a group are correlated: only the strongest of them counts.
 * A table of weights has a row for each.
 */
export const SIGNALS = {
  'email.syntax': ['invalid_syntax'],
  'email.mail': ['no_domain', 'no_mail'],
  'email.mailbox': ['mailbox_missing', 'mailbox_disabled', 'catch_all'],
  'email.disposable': ['disposable'],
  'email.spam_trap': ['spam_trap'],
  'email.local': ['random_local', 'role', 'plus_tag'],
  'email.free': ['free_provider'],
  'phone.validity': [
    'impossible_number',
    'invalid_number',
    'unknown_subscriber',
    'absent_subscriber',
  ],
  'phone.kind': ['voip', 'premium_rate', 'shared_cost', 'pager', 'toll_free'],
  'phone.roaming': ['roaming'],
  'ip.anonymity': [
    'tor',
    'public_proxy',
    'vpn',
    'datacenter',
    'bogon',
    'private_relay',
    'country_mismatch',
    'domain_country_mismatch',
  ],
  'ip.reputation': ['hijacked', 'listed_6', 'listed_5', 'listed_4', 'listed_3', 'listed', 'dnsbl'],
  'domain.registration': ['unregistered', 'hold', 'redemption', 'pending_delete', 'expired'],
  'domain.age': ['under_7_days', 'under_30_days', 'under_90_days', 'under_365_days'],
  'domain.disposable': ['disposable'],
  'domain.parked': ['parked'],
  'domain.dns': ['broken', 'no_mx', 'no_spf_no_dmarc', 'no_spf', 'no_dmarc'],
  'across.domain': ['email_domain_mismatch'],
  'across.fresh': ['fresh_and_hidden'],
} as const satisfies Readonly<Record<string, readonly string[]>>

/** The name of a group of signals. */
export type SignalGroup = keyof typeof SIGNALS

/** The codes of a group. */
export type SignalCode<G extends SignalGroup> = (typeof SIGNALS)[G][number]

/** Details of a signal besides its name. */
export interface SignalDetail {
  readonly value?: Json
  /** Its source: a list, a server, a database. */
  readonly source?: string
}

/** A signal by its names, checked by the compiler. */
export function riskSignal<G extends SignalGroup>(
  group: G,
  code: SignalCode<G>,
  detail: SignalDetail = {},
): Signal {
  return { group, code, ...detail }
}

/**
 * The steps of a domain's age, youngest first. Source: see the reasons in the `weights.json` of
 * scoring.
 */
const AGE_STEPS = [
  [7, 'under_7_days'],
  [30, 'under_30_days'],
  [90, 'under_90_days'],
  [365, 'under_365_days'],
] as const

/** The signal of a domain's age in whole days; none from a year on, and none if unknown. */
export function ageSignal(ageDays: number | null, source?: string): Signal | undefined {
  if (ageDays === null || ageDays < 0) return undefined
  const step = AGE_STEPS.find(([days]) => ageDays < days)
  if (step === undefined) return undefined
  return riskSignal('domain.age', step[1], {
    value: ageDays,
    ...(source === undefined ? {} : { source }),
  })
}

/** Level of networks that are hijacked or run by criminals, as in Spamhaus DROP. */
const LEVEL_HIJACKED = 9

/**
 * The signal of an address by its level in a threat list: a level from 3 to 8 is the number of
 * lists that name it, below that it is one list.
 */
export function threatSignal(level: number, source?: string): Signal {
  return riskSignal('ip.reputation', threatCode(level), {
    value: level,
    ...(source === undefined ? {} : { source }),
  })
}

function threatCode(level: number): SignalCode<'ip.reputation'> {
  if (level >= LEVEL_HIJACKED) return 'hijacked'
  if (level < 3) return 'listed'
  return (['listed_3', 'listed_4', 'listed_5', 'listed_6'] as const)[level - 3] ?? 'listed_6'
}

/** The signal of an address in a network that a threat list names entirely. */
export function threatNetworkSignal(source: string): Signal {
  return threatSignal(LEVEL_HIJACKED, source)
}
