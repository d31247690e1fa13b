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

/** The signal of an address that `lists` independent lists name; none below three. */
export function listedSignal(lists: number, source?: string): Signal | undefined {
  if (!(lists >= 3)) return undefined
  const codes = ['listed_3', 'listed_4', 'listed_5', 'listed_6'] as const
  const code = codes[Math.min(Math.floor(lists) - 3, 3)] ?? 'listed_6'
  return riskSignal('ip.reputation', code, {
    value: lists,
    ...(source === undefined ? {} : { source }),
  })
}
