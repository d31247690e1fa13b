/** Milliseconds of a day; the days of this file are written `YYYY-MM-DD`. */
const DAY_MS = 86_400_000

/** Today in a time zone (IANA name). */
export function todayIn(timeZone: string, now: Date = new Date()): string {
  // The Swedish form is that of ISO 8601.
  return new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' }).format(now)
}

/** The day a number of days after another; before it if the number is negative. */
export function dayAfter(day: string, days: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10)
}

/** Every day from one to another, both included. */
export function daysBetween(from: string, to: string): readonly string[] {
  const days: string[] = []
  for (let day = from; day <= to; day = dayAfter(day, 1)) days.push(day)
  return days
}
