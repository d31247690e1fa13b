import { CHECKS, type Check } from '@plumbline/contract/products'
import * as format from './format.ts'

/** Noun for each part of a row. */
const SUBJECTS: Readonly<Record<Check, string>> = {
  email: 'The email',
  phone: 'The phone number',
  ip: 'The IP address',
  domain: 'The domain',
}

/** Advice for programs at the end of errors, which is left out. */
const FOR_PROGRAMS: Readonly<Record<string, string>> = {
  'has no country code; set default_country':
    'has no country code, which can be chosen under Columns before a batch is started',
}

/** Separator of the parts of a row's error. */
const NEXT_PART = new RegExp(`; (?=(?:${CHECKS.join('|')}): )`)
/** A time in the format of the API. */
const ISO_TIME = /\d{4}-\d\d-\d\dT[\d:.]+Z/g

/** The error of a row, in sentences: `ip: is missing` becomes "The IP address is missing." */
export function rowFault(error: string): string {
  return error.split(NEXT_PART).map(sentenceOf).join(' ')
}

function sentenceOf(part: string): string {
  const [, opening = '', text = part] = /^([a-z]+): (.*)$/s.exec(part) ?? []
  const check = CHECKS.find((one) => one === opening)
  // "canceled", "known" and "waiting" stand beside it, as the state of the row.
  const said =
    check === undefined ? capital(text) : `${SUBJECTS[check]} ${FOR_PROGRAMS[text] ?? text}`
  const told = said.replaceAll(ISO_TIME, (iso) => format.time(iso))
  return /[.!?…]$/.test(told) ? told : `${told}.`
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1)
}
