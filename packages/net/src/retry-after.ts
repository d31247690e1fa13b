/**
 * Milliseconds that a `Retry-After` header asks to wait, in seconds or until a date (RFC 9110 10.2.3):
 * 0 if the date is over; null without a header that can be read.
 *
 * @param nowMs the time by the clock that wrote the date, in milliseconds since the Unix epoch
 */
export function retryAfterMs(header: string | undefined, nowMs: number): number | null {
  const text = header?.trim() ?? ''
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - nowMs
  return Number.isNaN(ms) ? null : Math.max(0, ms)
}
