import { PLAIN_TEXT } from '@plumbline/contract/batch-request'
import { Problem } from '@plumbline/contract/problem'
import { unknownFields } from '@plumbline/contract/requests'
import type { Request } from 'express'

/**
 * The query of a request; each method throws `Problem('bad_request')` that names what was expected.
 */
export interface Query {
  text(name: string, shape: RegExp): string | undefined
  /** A day such as `2026-11-01`. */
  day(name: string): string | undefined
  wholeNumber(name: string, options: { fallback: number; min: number; max: number }): number
  /** `limit`: entries of a page. */
  limit(page: { readonly default: number; readonly max: number }): number
  oneOf<T extends string>(name: string, values: readonly T[], fallback: T): T
  /** Comma-separated words; empty if the parameter is absent. */
  words<T extends string>(name: string, values: readonly T[]): readonly T[]
  /** Text to search for, without control characters. */
  phrase(name: string, maxChars: number): string | undefined
}

/**
 * Refuses a query on a path that takes none, since it would be ignored.
 * @throws Problem `bad_request`
 */
export function refuseQuery(req: Request): void {
  if (req.url.includes('?')) readQuery(req, [])
}

/** Parses a query whose names must be among `known`, each once. */
export function readQuery(req: Request, known: readonly string[]): Query {
  const start = req.url.indexOf('?')
  const sent = new URLSearchParams(start === -1 ? '' : req.url.slice(start + 1))
  const values = new Map<string, string>()
  for (const [name, value] of sent) {
    if (!known.includes(name)) {
      throw new Problem('bad_request', unknownName(name, known))
    }
    if (values.has(name))
      throw new Problem('bad_request', `\`${name}\` came more than once; send it once.`)
    values.set(name, value)
  }
  const wholeNumber: Query['wholeNumber'] = (name, { fallback, min, max }) => {
    const value = values.get(name)
    if (value === undefined) return fallback
    const number = /^\d{1,16}$/.test(value) ? Number(value) : -1
    if (number >= min && number <= max) return number
    throw new Problem('bad_request', `\`${name}\` must be a whole number from ${min} to ${max}.`)
  }
  return {
    text: (name, shape) => {
      const value = values.get(name)
      if (value === undefined || shape.test(value)) return value
      throw new Problem('bad_request', `\`${name}\` was not returned by this service.`)
    },
    day: (name) => {
      const value = values.get(name)
      if (value === undefined || isDay(value)) return value
      throw new Problem('bad_request', `\`${name}\` must be a day such as 2026-11-01.`)
    },
    wholeNumber,
    limit: ({ default: fallback, max }) => wholeNumber('limit', { fallback, min: 1, max }),
    oneOf: (name, wanted, fallback) => {
      const value = values.get(name)
      if (value === undefined) return fallback
      const found = wanted.find((word) => word === value)
      if (found !== undefined) return found
      throw new Problem('bad_request', `\`${name}\` must be one of ${wanted.join(', ')}.`)
    },
    words: (name, wanted) => {
      const words = (values.get(name) ?? '').split(',').filter((word) => word !== '')
      return words.map((word) => {
        const found = wanted.find((one) => one === word)
        if (found !== undefined) return found
        throw new Problem(
          'bad_request',
          `\`${name}\` takes ${wanted.join(', ')}, separated by commas.`,
        )
      })
    },
    phrase: (name, maxChars) => {
      const value = values.get(name)
      if (
        value === undefined ||
        (value !== '' && value.length <= maxChars && PLAIN_TEXT.test(value))
      ) {
        return value
      }
      throw new Problem('bad_request', `\`${name}\` must be text of 1 to ${maxChars} characters.`)
    },
  }
}

/** A day of the Gregorian calendar; `Date` would take 30 February for 2 March. */
function isDay(text: string): boolean {
  if (!/^[12]\d{3}-\d\d-\d\d$/.test(text)) return false
  const time = Date.parse(`${text}T00:00:00Z`)
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text)
}

function unknownName(name: string, known: readonly string[]): string {
  if (known.length > 0) return unknownFields([name], known)
  return `Unknown field ${JSON.stringify(name.slice(0, 60))} in the query; none is taken here, send it in the body.`
}
