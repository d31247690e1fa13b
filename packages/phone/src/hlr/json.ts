import { shortText } from '@plumbline/net/short-text'

/** A JSON object from outside: every field may be missing or of another type. */
export type Fields = { readonly [key: string]: unknown }

const NOTHING: Fields = Object.freeze({})

/** The value if it is an object, else an empty one. */
export function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : NOTHING
}

/** The value if it is an array, else an empty one. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** A non-empty string, at most 200 characters of it; null otherwise. */
export function textOf(value: unknown): string | null {
  const text = typeof value === 'string' ? value.trim() : ''
  return text === '' ? null : shortText(text)
}

/** A boolean, or its name as a string; null otherwise. */
export function flagOf(value: unknown): boolean | null {
  if (typeof value === 'boolean') return value
  if (value === 'true') return true
  return value === 'false' ? false : null
}

/** A number, or its digits as a string; null otherwise. */
export function numberOf(value: unknown): number | null {
  const number = typeof value === 'string' && /^-?\d+$/.test(value) ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : null
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
