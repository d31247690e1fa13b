import {
  OWN_LIMITS,
  ownLimitBounds,
  priceCentsOf,
  type OwnLimit,
  type OwnLimits,
} from '@plumbline/contract/plans'
import { InvalidArgumentError, type Command } from 'commander'
import { given } from './given.ts'

const TEXTS: Readonly<Record<OwnLimit, string>> = {
  calls_per_second: 'calls a second',
  calls_burst: 'calls at once',
  unfinished_batches: 'batches that have not ended',
  upload_rows: 'rows of one file',
  hlr_numbers_per_day: 'numbers that a network is asked about for money in a day',
}

/** A number, or the word for no number: commander turns a parsed null into an empty text. */
export type NumberOrNone = number | 'none'

/** The number, or null for `none`; undefined if it was left out. */
export function nullIfNone(value: NumberOrNone | undefined): number | null | undefined {
  return value === 'none' ? null : value
}

/** Values of the limit options, by commander's names. */
export type LimitOptions = { readonly [Name in OwnLimit as CamelOf<Name>]?: NumberOrNone }

type CamelOf<Text extends string> = Text extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelOf<Tail>>}`
  : Text

/** Adds an option for each limit; `none` removes the limit. */
export function addLimitOptions(command: Command): Command {
  for (const name of OWN_LIMITS) {
    const { min, max } = ownLimitBounds(name)
    const count = numberOrNone(max, min)
    command.option(`--${name.replaceAll('_', '-')} <count>`, TEXTS[name], count)
  }
  return command
}

/** The limits that were named. */
export function limitsOf(options: LimitOptions): Partial<OwnLimits> {
  return given({
    calls_per_second: nullIfNone(options.callsPerSecond),
    calls_burst: nullIfNone(options.callsBurst),
    unfinished_batches: nullIfNone(options.unfinishedBatches),
    upload_rows: nullIfNone(options.uploadRows),
    hlr_numbers_per_day: nullIfNone(options.hlrNumbersPerDay),
  } satisfies Readonly<Record<OwnLimit, number | null | undefined>>)
}

/** Reads a whole number up to `max`, or `none`. */
export function numberOrNone(max: number, min = 1): (text: string) => NumberOrNone {
  return (text) => {
    if (text === 'none') return text
    const value = Number(text)
    if (/^\d+$/.test(text) && value >= min && value <= max) return value
    throw new InvalidArgumentError(`Expected a whole number from ${min} to ${max}, or none.`)
  }
}

/** Reads a price in US dollars as cents, or `none`. */
export function priceCents(text: string): NumberOrNone {
  if (text === 'none') return text
  const cents = priceCentsOf(text)
  if (cents !== undefined) return cents
  throw new InvalidArgumentError('Expected a price in US dollars such as 25 or 24.90, or none.')
}
