import {
  OWN_LIMITS,
  ownLimitMin,
  priceCentsOf,
  type OwnLimit,
  type OwnLimits,
} from '@plumbline/contract/plans'
import { InvalidArgumentError, type Command } from 'commander'

/** Largest limit that fits its column. */
const LIMIT_MAX = 2_147_483_647

const TEXTS: Readonly<Record<OwnLimit, string>> = {
  calls_per_second: 'calls a second',
  calls_burst: 'calls at once',
  unfinished_batches: 'batches that have not ended',
  upload_rows: 'rows of one file',
  hlr_numbers_per_day: 'numbers that a network is asked about for money in a day',
}

/** Values of the limit options, by commander's names. */
export type LimitOptions = { readonly [Name in OwnLimit as CamelOf<Name>]?: number | null }

type CamelOf<Text extends string> = Text extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelOf<Tail>>}`
  : Text

/** Adds an option for each limit; `none` removes the limit. */
export function addLimitOptions(command: Command): Command {
  for (const name of OWN_LIMITS) {
    const count = numberOrNone(LIMIT_MAX, ownLimitMin(name))
    command.option(`--${name.replaceAll('_', '-')} <count>`, TEXTS[name], count)
  }
  return command
}

/** The limits that were named. */
export function limitsOf(options: LimitOptions): Partial<OwnLimits> {
  const values: Readonly<Record<OwnLimit, number | null | undefined>> = {
    calls_per_second: options.callsPerSecond,
    calls_burst: options.callsBurst,
    unfinished_batches: options.unfinishedBatches,
    upload_rows: options.uploadRows,
    hlr_numbers_per_day: options.hlrNumbersPerDay,
  }
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined))
}

/** Reads a whole number up to `max`, or `none` as null. */
export function numberOrNone(max: number, min = 1): (text: string) => number | null {
  return (text) => {
    if (text === 'none') return null
    const value = Number(text)
    if (/^\d+$/.test(text) && value >= min && value <= max) return value
    throw new InvalidArgumentError(`Expected a whole number from ${min} to ${max}, or none.`)
  }
}

/** Reads a price in US dollars as cents, or `none` as null. */
export function priceCents(text: string): number | null {
  if (text === 'none') return null
  const cents = priceCentsOf(text)
  if (cents !== undefined) return cents
  throw new InvalidArgumentError('Expected a price in US dollars such as 25 or 24.90, or none.')
}
