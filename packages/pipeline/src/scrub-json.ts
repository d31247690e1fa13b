import { exactNumber } from '@plumbline/intake/json-row'

/**
 * Applies a function to every string and key of a JSON value; returns the same value if that
 * changes nothing.
 */
export function scrubJson(value: unknown, scrub: (text: string) => string): unknown {
  if (typeof value === 'string') return scrub(value)
  const number = typeof value === 'number' ? value : exactNumber(value)
  if (number !== undefined) {
    // Phone numbers may be written as JSON numbers.
    const text = String(number)
    return Number.isSafeInteger(number) && scrub(text) !== text ? '' : value
  }
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    const scrubbed = value.map((item: unknown) => scrubJson(item, scrub))
    return scrubbed.some((item, at) => item !== value[at]) ? scrubbed : value
  }
  let isChanged = false
  const members = Object.entries(value).map(([key, item]: [string, unknown]) => {
    const member = [scrub(key), scrubJson(item, scrub)] as const
    isChanged ||= member[0] !== key || member[1] !== item
    return member
  })
  return isChanged ? Object.fromEntries(members) : value
}
