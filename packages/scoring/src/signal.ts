import type { Json, Signal } from '@plumbline/contract/outcome'
import type { SignalCode, SignalGroup } from './weights.ts'

/** What a signal may say besides its name. */
export interface SignalDetail {
  readonly value?: Json
  /** Where it is known from: a list, a server, a database. */
  readonly source?: string
}

/** A signal by the names of the weights table, checked by the compiler. */
export function riskSignal<G extends SignalGroup>(
  group: G,
  code: SignalCode<G>,
  detail: SignalDetail = {},
): Signal {
  return { group, code, ...detail }
}

/** The steps of a domain's age, youngest first. Source: see the reasons in `weights.json`. */
const AGE_STEPS = [
  [7, 'under_7_days'],
  [30, 'under_30_days'],
  [90, 'under_90_days'],
  [365, 'under_365_days'],
] as const

/** The signal of a domain's age in whole days; none from a year on and none when unknown. */
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

/** The signal of an address by its level in a threat list: from 3 to 8 so many lists name it, below that one does. */
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

/** The signal of an address in a network that a threat list names as a whole. */
export function threatNetworkSignal(source: string): Signal {
  return threatSignal(LEVEL_HIJACKED, source)
}
