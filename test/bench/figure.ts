/** One measured figure, with a baseline from the same run where there is one. */
export interface Figure {
  readonly name: string
  readonly backend: string
  readonly figure: number
  readonly unit: string
  /** Null if the target is an absolute bound. */
  readonly baseline: number | null
  readonly ratio: number | null
  /** A ratio if there is a baseline, else a bound in the figure's unit. */
  readonly target: number
  readonly pass: boolean
}

/** A figure that must reach `least` times its baseline. */
export function atLeast(
  head: Pick<Figure, 'name' | 'backend' | 'unit'>,
  figure: number,
  baseline: number,
  least: number,
): Figure {
  const ratio = round(figure / baseline)
  return {
    ...head,
    figure: round(figure),
    baseline: round(baseline),
    ratio,
    target: least,
    pass: ratio >= least,
  }
}

/** A figure that may be at most `most` times its baseline. */
export function atMost(
  head: Pick<Figure, 'name' | 'backend' | 'unit'>,
  figure: number,
  baseline: number,
  most: number,
): Figure {
  const ratio = round(figure / baseline)
  return {
    ...head,
    figure: round(figure),
    baseline: round(baseline),
    ratio,
    target: most,
    pass: ratio <= most,
  }
}

/** A figure with an absolute limit. */
export function bounded(
  head: Pick<Figure, 'name' | 'backend' | 'unit'>,
  figure: number,
  most: number,
): Figure {
  return {
    ...head,
    figure: round(figure),
    baseline: null,
    ratio: null,
    target: most,
    pass: figure <= most,
  }
}

/** Median of an odd or even number of values. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2
}

/** A quantile: the value below which the share (0 to 1) of the values is. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}
