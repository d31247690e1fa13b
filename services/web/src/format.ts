/** Numbers and times as the reader's browser writes them. */

// Each is made when it is first used: a browser takes milliseconds over one, and no page uses them
// all.
const NUMBER = once(() => new Intl.NumberFormat())
const PERCENT = once(
  () => new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 0 }),
)
const FINE_PERCENT = once(
  () => new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 1 }),
)
const SHORT = once(
  () => new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 }),
)
const DAY = once(() => new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' }))
const SHORT_DAY = once(() => new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' }))
const TIME = once(
  () => new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' }),
)
const MONEY = once(
  () =>
    new Intl.NumberFormat(undefined, {
      style: 'currency',
      currency: 'USD',
      trailingZeroDisplay: 'stripIfInteger',
    }),
)

function once<T>(make: () => T): () => T {
  let made: T | undefined
  return () => (made ??= make())
}

/** A whole number with its separators. */
export function number(value: number): string {
  return NUMBER().format(value)
}

/** A number in short form: `12K`. */
export function short(value: number): string {
  return SHORT().format(value)
}

/** A share of 0 to 1 in percent; only 0 is shown as 0, and only 1 as 100. */
export function percent(share: number): string {
  if (share > 0 && share < 0.01) return FINE_PERCENT().format(Math.max(share, 0.001))
  return PERCENT().format(share < 1 ? Math.min(share, 0.99) : share)
}

/** Dollars, with cents if there are any. */
export function dollars(value: number): string {
  return MONEY().format(value)
}

/** The day of an ISO time. */
export function day(iso: string): string {
  return DAY().format(new Date(iso))
}

/** A calendar day `YYYY-MM-DD`, which is the same in every time zone. */
export function calendarDay(date: string): string {
  return day(`${date}T12:00:00`)
}

/** A calendar day `YYYY-MM-DD` without its year. */
export function shortDay(date: string): string {
  return SHORT_DAY().format(new Date(`${date}T12:00:00`))
}

/** Day and time of an ISO time. */
export function time(iso: string): string {
  return TIME().format(new Date(iso))
}

const UNITS = ['bytes', 'kB', 'MB', 'GB'] as const

/** A size of a file; `bytes` in units of 1,000. */
export function size(bytes: number): string {
  let value = bytes
  let unit = 0
  while (value >= 1_000 && unit < UNITS.length - 1) {
    value /= 1_000
    unit += 1
  }
  return `${NUMBER().format(unit === 0 ? value : Number(value.toPrecision(3)))} ${UNITS[unit] ?? ''}`
}

/** A span of time in words: "less than a minute", "5 minutes", "2 hours". */
export function span(seconds: number): string {
  if (seconds < 60) return 'less than a minute'
  const minutes = Math.round(seconds / 60)
  if (minutes < 90) return counted(minutes, 'minute')
  const hours = Math.round(minutes / 60)
  return hours < 48 ? counted(hours, 'hour') : counted(Math.round(hours / 24), 'day')
}

/** A rough span of time at the beginning of a sentence: "About 5 minutes", "Less than a minute". */
export function about(seconds: number): string {
  const text = span(seconds)
  return seconds < 60 ? text.slice(0, 1).toUpperCase() + text.slice(1) : `About ${text}`
}

/** A number with its noun, in the singular for one: `1 row`, `2 rows`, `2 batches`. */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${number(count)} ${count === 1 ? noun : plural}`
}
