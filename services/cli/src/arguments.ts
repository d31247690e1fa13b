import { HEADER_ROWS } from '@plumbline/contract/batch-request'
import { DELIMITER_NAMES } from '@plumbline/contract/delimiters'
import { KEY_MODES } from '@plumbline/contract/plans'
import { FILTERS_WANTED, isResultFilter } from '@plumbline/contract/results-request'
import { InvalidArgumentError, Option } from 'commander'

/** Parser of a whole number; commander names the option in the error. */
export function wholeNumber(bounds: { min: number; max: number }): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (/^\d+$/.test(text) && value >= bounds.min && value <= bounds.max) return value
    throw new InvalidArgumentError(`Expected a whole number from ${bounds.min} to ${bounds.max}.`)
  }
}

/** Parses an email address by its form only. */
export function mailAddress(text: string): string {
  if (/^[^\s@]+@[^\s@]+$/.test(text)) return text
  throw new InvalidArgumentError('Expected an address such as owner@example.com.')
}

/** Reads an `http` or `https` URL. */
export function webAddress(text: string): string {
  if (/^https?:\/\//.test(text) && URL.canParse(text)) return text
  throw new InvalidArgumentError('Expected an address such as http://mirror.example/lists.')
}

/** Reads a JSON object that maps fields to columns: the name in the header, or a 0-based number. */
export function columnMapping(text: string): Readonly<Record<string, string | number>> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new InvalidArgumentError('Expected JSON such as {"email": "Work Email", "phone": 3}.')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new InvalidArgumentError('Expected a JSON object from field to column.')
  }
  const mapping: Record<string, string | number> = {}
  for (const [field, column] of Object.entries(value)) {
    if (typeof column !== 'string' && typeof column !== 'number') {
      throw new InvalidArgumentError(`Expected the name or number of a column for ${field}.`)
    }
    mapping[field] = column
  }
  return mapping
}

/** Whether a file has a header, or the number of the record that is it. */
export function headerAnswer(text: string): boolean | number {
  if (text === 'true' || text === 'false') return text === 'true'
  const row = Number(text)
  if (/^\d+$/.test(text) && row >= 1 && row <= HEADER_ROWS) return row
  throw new InvalidArgumentError(`Expected true, false, or a number from 1 to ${HEADER_ROWS}.`)
}

/** Parses filters of results: verdicts, row statuses, advices or reasons, comma-separated. */
export function resultFilters(text: string): readonly string[] {
  const filters = text.split(',')
  if (filters.every(isResultFilter)) return filters
  throw new InvalidArgumentError(FILTERS_WANTED.replace('`only`', 'It'))
}

/** `--delimiter`, by character or name; `what` completes the help text. */
export function delimiterOption(what: string): Option {
  // A tab is hard to type.
  const names = [...DELIMITER_NAMES.keys()].filter((name) => name !== '\t')
  return new Option('--delimiter <name>', what).choices(names)
}

/** `--json`, the same for every command. */
export function jsonOption(): Option {
  return new Option('--json', 'print JSON and nothing else').default(false)
}

/** `--key`, for commands that call the API. */
export function keyOption(): Option {
  return new Option('--key <key>', 'API key; PLUMBLINE_KEY where it is left out')
}

/** `--mode`: the live or the test key of an account. */
export function modeOption(): Option {
  return new Option('--mode <mode>', 'which kind of key').choices(KEY_MODES).makeOptionMandatory()
}
