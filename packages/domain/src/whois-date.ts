/** Order of a date of three plain numbers. */
export type DateOrder = 'dmy' | 'mdy'

/** A date as a registry wrote it: the day by its own clock, and the instant if a time was given. */
export interface WhoisDate {
  /** `YYYY-MM-DD`, not converted by a time zone: registries that print one count days in it. */
  readonly day: string
  /** ISO 8601, UTC; null if the reply names only a day. */
  readonly instant: string | null
}

/** First and last plausible year: the first names are of 1985 (RFC 920). */
export const FIRST_YEAR = 1980
const LAST_YEAR = 2200

/** Prefixes of month names in the languages that registries use. */
const MONTHS: readonly (readonly string[])[] = [
  ['jan', 'ene', 'gen', 'oca', 'янв'],
  ['feb', 'fev', 'fév', 'şub', 'фев'],
  ['mar', 'mär', 'maa', 'мар'],
  ['apr', 'abr', 'avr', 'nis', 'апр'],
  ['may', 'mai', 'mag', 'mei', 'мая', 'май'],
  ['jun', 'juin', 'giu', 'haz', 'июн'],
  ['jul', 'juil', 'lug', 'tem', 'июл'],
  ['aug', 'ago', 'aou', 'aoû', 'ağu', 'авг'],
  ['sep', 'set', 'eyl', 'сен'],
  ['oct', 'okt', 'out', 'ott', 'eki', 'окт'],
  ['nov', 'kas', 'ноя'],
  ['dec', 'dez', 'dic', 'déc', 'ara', 'дек'],
]

/** Hours east of UTC of time zone names that registries print. Ambiguous names are left out. */
const ZONES: Readonly<Record<string, number>> = {
  Z: 0,
  UTC: 0,
  GMT: 0,
  WET: 0,
  CET: 1,
  WAT: 1,
  MET: 1,
  CEST: 2,
  CAT: 2,
  SAST: 2,
  EET: 2,
  EEST: 3,
  EAT: 3,
  MSK: 3,
  MSD: 4,
  HKT: 8,
  JST: 9,
  KST: 9,
  NZST: 12,
  NZDT: 13,
  EST: -5,
  EDT: -4,
  CDT: -5,
  PST: -8,
  PDT: -7,
  BRT: -3,
  BRST: -2,
}

/** Each format of a date, and the meaning of its groups. */
interface Form {
  readonly pattern: RegExp
  readonly groups: 'ymd' | 'dmy' | 'mdy' | 'plain' | 'my'
}

const FORMS: readonly Form[] = [
  { pattern: /^(\d{4})\s?[-./年]\s*(\d{1,2})\s?[-./月]\s*(\d{1,2})(?!\d)/, groups: 'ymd' },
  { pattern: /^(\d{4})[-. /](\p{L}{3,9})[-. /](\d{1,2})(?!\d)/u, groups: 'ymd' },
  { pattern: /^(\d{4})(\d{2})(\d{2})(?:(?=\d{6}\b)|(?!\d))/, groups: 'ymd' },
  {
    pattern:
      /^(\d{1,2})(?:st|nd|rd|th|\.)?[-./ ]\s?(?:de )?(\p{L}{3,9})\.?[-./, ]{1,2}(?:de )?(\d{4})(?!\d)/u,
    groups: 'dmy',
  },
  { pattern: /^(\d{1,2})[-./ ](\p{L}{3,9})[-./ ](\d{2})(?!\d)/u, groups: 'dmy' },
  { pattern: /^(\p{L}{3,9})\.?[- ](\d{1,2})(?:st|nd|rd|th)?,?[- ](\d{4})(?!\d)/u, groups: 'mdy' },
  {
    pattern: /^(\p{L}{3,9}) +(\d{1,2}),? +(?=\d{1,2}:\d{2})[\d:. ]+(?:[A-Z]{2,5} +)?(\d{4})(?!\d)/u,
    groups: 'mdy',
  },
  { pattern: /^(\d{1,2})\s?[-./]\s?(\d{1,2})\s?[-./]\s?(\d{4})(?!\d)/, groups: 'plain' },
  { pattern: /^(\p{L}{3,9})[- ](\d{4})(?!\d)/iu, groups: 'my' },
]

const WEEKDAY = /^(?:mon|tue|wed|thu|fri|sat|sun)\p{L}*\.?,? +/iu
/** Used by RoTLD and Nominet for names older than their records. */
const VAGUE = /^(?:before|prior to|since|on)\s+/i
const CLOCK =
  /(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d+)?)? ?([ap]m)?\s*\(?(?:(?:UTC|GMT)\s?([+-]\d{1,2})(?::?(\d{2}))?|([+-]\d{2}):?(\d{2})?|([A-Z]{1,5}))?/i

/**
 * Parses a date at the start of a value, in any format that registries use. A number over 12
 * determines the order whatever `order` says. Null if there is no date, or one outside of the years
 * 1980 to 2200. `before Aug-1996` gives the first day of that month.
 */
export function parseWhoisDate(value: string, order: DateOrder): WhoisDate | null {
  const text = value.trim().replace(VAGUE, '').replace(WEEKDAY, '')
  for (const form of FORMS) {
    const match = form.pattern.exec(text)
    if (match === null) continue
    const date = dateOf(match, form.groups, order)
    if (date === null) continue
    return withClock(date, timeText(text, match[0], form))
  }
  const epoch = /^\d{9,10}$/.test(text) ? new Date(Number(text) * 1000) : null
  if (epoch === null || epoch.getUTCFullYear() < FIRST_YEAR) return null
  return { day: epoch.toISOString().slice(0, 10), instant: isoSeconds(epoch) }
}

interface Day {
  readonly year: number
  readonly month: number
  readonly day: number
}

function dateOf(match: RegExpExecArray, groups: Form['groups'], order: DateOrder): Day | null {
  const [, a = '', b = '', c = ''] = match
  switch (groups) {
    case 'ymd':
      return checked(a, b, c)
    case 'dmy':
      return checked(c, b, a)
    case 'mdy':
      return checked(c, a, b)
    case 'my':
      return checked(b, a, '1')
    case 'plain':
      if (Number(a) > 12) return checked(c, b, a)
      if (Number(b) > 12) return checked(c, a, b)
      return order === 'dmy' ? checked(c, b, a) : checked(c, a, b)
  }
}

function checked(yearText: string, monthText: string, dayText: string): Day | null {
  const short = Number(yearText)
  const year = yearText.length === 2 ? (short < 80 ? 2000 : 1900) + short : short
  const month = /^\d+$/.test(monthText) ? Number(monthText) : monthOf(monthText)
  const day = Number(dayText)
  if (year < FIRST_YEAR || year > LAST_YEAR || month < 1 || month > 12 || day < 1) return null
  const last = new Date(Date.UTC(year, month, 0)).getUTCDate()
  return day > last ? null : { year, month, day }
}

function monthOf(text: string): number {
  const name = text.toLowerCase()
  return MONTHS.findIndex((names) => names.some((start) => name.startsWith(start))) + 1
}

// In the format of ctime the time is inside the date.
function timeText(text: string, matched: string, form: Form): string {
  const inside = form.groups === 'mdy' && matched.includes(':')
  if (inside) return matched.replace(/\d{4}$/, '')
  const rest = text.slice(matched.length)
  const compact = /^(\d{2})(\d{2})(\d{2})\b/.exec(rest)
  return compact === null ? rest : `${compact[1]}:${compact[2]}:${compact[3]}`
}

function withClock(date: Day, rest: string): WhoisDate {
  const day = `${date.year}-${pad(date.month)}-${pad(date.day)}`
  const clock = CLOCK.exec(rest)
  // A time of day far from the date belongs to something else in the line.
  if (clock === null || clock.index > 14) return { day, instant: null }
  const [, hourText, minuteText, secondText = '0', half, plus, plusMinutes, offset, minutes, zone] =
    clock
  const hour =
    (Number(hourText) % (half === undefined ? 25 : 12)) + (/^p/i.test(half ?? '') ? 12 : 0)
  const zoneHours = zone === undefined ? 0 : (ZONES[zone.toUpperCase()] ?? 0)
  const hours = Number(plus ?? offset ?? zoneHours)
  const sign = (plus ?? offset ?? '').startsWith('-') ? -1 : 1
  const shift = hours * 60 + sign * Number(plusMinutes ?? minutes ?? 0)
  const utc = Date.UTC(
    date.year,
    date.month - 1,
    date.day,
    hour,
    Number(minuteText) - shift,
    Number(secondText),
  )
  const instant = new Date(utc)
  return { day, instant: isoSeconds(instant) }
}

function pad(value: number): string {
  return String(value).padStart(2, '0')
}

/** The instant of a date; midnight, UTC, if the reply names only a day. */
export function instantOf(date: WhoisDate | null): string | null {
  return date === null ? null : (date.instant ?? `${date.day}T00:00:00Z`)
}

/** ISO 8601, UTC, to the second. */
export function isoSeconds(date: Date): string {
  return date.toISOString().replace(/\.\d{3}Z$/, 'Z')
}
