/**
 * Parses a date into its possible times, in milliseconds since the Unix epoch: two if day and month
 * are ambiguous.
 */
export type DateReader = (text: string) => readonly number[]

/** Characters of a date at most. */
const DATE_CHARS = 40

const TIME = String.raw`(?:[T ,]+(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d+)?)?\s*([ap]m)?\s*(z|utc|gmt|[+-]\d{2}:?\d{2})?)?`
const YEAR_FIRST = new RegExp(String.raw`^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})${TIME}$`, 'i')
const YEAR_LAST = new RegExp(String.raw`^(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d{2})${TIME}$`, 'i')
const DAY_NAMED = new RegExp(
  String.raw`^(\d{1,2})[ .-]+([a-z]{3,9})[ .,-]+(\d{4}|\d{2})${TIME}$`,
  'i',
)
const MONTH_NAMED = new RegExp(String.raw`^([a-z]{3,9})[ .]+(\d{1,2}),? +(\d{4})${TIME}$`, 'i')

const MONTHS = 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ')

/**
 * Makes a parser for a column of dates: ISO 8601, numbers with the year last, and English month
 * names. A date without time zone is UTC. `1/2/2026` is read in the order of day and month that the
 * sample shows; if it shows none, both readings are returned.
 */
export function createDateReader(sample: readonly string[]): DateReader {
  const order = orderIn(sample)
  return (whole) => {
    const text = whole.trim()
    if (text.length > DATE_CHARS) return []
    const [, year, month, day, ...time] = YEAR_FIRST.exec(text) ?? []
    if (year !== undefined) return momentsOf([[year, month, day]], time)
    const [, first, sign, second, last, ...clock] = YEAR_LAST.exec(text) ?? []
    if (first !== undefined) {
      const dayFirst = [last, second, first] as const
      const monthFirst = [last, first, second] as const
      // With dots the day comes first everywhere.
      if (sign === '.' || order === 'day') return momentsOf([dayFirst], clock)
      return momentsOf(order === 'month' ? [monthFirst] : [dayFirst, monthFirst], clock)
    }
    const [, named, ofMonth, inYear, ...hours] = DAY_NAMED.exec(text) ?? []
    if (named !== undefined) return momentsOf([[inYear, monthNamed(ofMonth), named]], hours)
    const [, name, dayOf, yearOf, ...rest] = MONTH_NAMED.exec(text) ?? []
    return name === undefined ? [] : momentsOf([[yearOf, monthNamed(name), dayOf]], rest)
  }
}

/** Whether the sample has the day or the month first; undefined if it shows neither, or both. */
function orderIn(sample: readonly string[]): 'day' | 'month' | undefined {
  let isDay = false
  let isMonth = false
  for (const text of sample) {
    const [, first, sign, second] = YEAR_LAST.exec(text.trim().slice(0, DATE_CHARS)) ?? []
    if (sign === '.') continue
    isDay ||= Number(first) > 12
    isMonth ||= Number(second) > 12
  }
  return isDay === isMonth ? undefined : isDay ? 'day' : 'month'
}

type Day = readonly [year: string | undefined, month: string | undefined, day: string | undefined]

/** The times of those days that exist in the calendar. */
function momentsOf(
  days: readonly Day[],
  [hour = '0', minute = '0', second = '0', half, zone]: readonly (string | undefined)[],
): readonly number[] {
  return days.flatMap(([year = '', month = '', day = '']) => {
    const years = year.length === 2 ? 2_000 + Number(year) : Number(year)
    const dayMs = Date.UTC(years, Number(month) - 1, Number(day))
    const made = new Date(dayMs)
    const exists = made.getUTCMonth() === Number(month) - 1 && made.getUTCDate() === Number(day)
    const hours = half === undefined ? Number(hour) : onDial(Number(hour), half)
    if (!exists || hours > 23 || Number(minute) > 59 || Number(second) > 60) return []
    const ofDayMs = ((hours * 60 + Number(minute)) * 60 + Number(second)) * 1_000
    return [dayMs + ofDayMs - offsetMs(zone)]
  })
}

function onDial(hour: number, half: string): number {
  return (hour % 12) + (half.toLowerCase() === 'pm' ? 12 : 0)
}

function offsetMs(zone: string | undefined): number {
  const [, sign, hours, minutes] = /^([+-])(\d{2}):?(\d{2})$/.exec(zone ?? '') ?? []
  if (sign === undefined) return 0
  const ms = (Number(hours) * 60 + Number(minutes)) * 60_000
  return sign === '-' ? -ms : ms
}

function monthNamed(name = ''): string {
  return String(MONTHS.indexOf(name.slice(0, 3).toLowerCase()) + 1)
}
