import { ownLimitBounds, priceCentsOf, type OwnLimit } from '@plumbline/contract/plans'
import { Problem } from '@plumbline/contract/problem'
import { LIMIT_LABELS, type Field } from './fields.ts'

/** The fields of a submitted form, each once. */
export type Form = ReadonlyMap<string, string>

/** Parses the body of a form. */
export function formOf(body: unknown): Form {
  return new Map(new URLSearchParams(typeof body === 'string' ? body : ''))
}

/**
 * The text of a field.
 *
 * @throws Problem `bad_request` if it is empty
 */
export function textOf(form: Form, { name, label }: Field): string {
  const value = form.get(name)
  if (value !== undefined && value !== '') return value
  throw new Problem('bad_request', `${label} is empty; fill it in.`)
}

/** A whole number within bounds; null if the field is empty. @throws Problem `bad_request` */
export function numberOf(
  form: Form,
  field: Field,
  { min = 1, max }: { readonly min?: number; readonly max: number },
): number | null {
  const text = (form.get(field.name) ?? '').trim()
  if (text === '') return null
  const value = /^\d{1,10}$/.test(text) ? Number(text) : -1
  if (value >= min && value <= max) return value
  throw new Problem(
    'bad_request',
    `${field.label}: enter a whole number from ${min} to ${max}, or nothing.`,
  )
}

/** A limit of an account or plan; null if the field is empty. @throws Problem `bad_request` */
export function ownLimitOf(form: Form, name: OwnLimit): number | null {
  return numberOf(form, { name, label: LIMIT_LABELS[name] }, ownLimitBounds(name))
}

/**
 * The number in a required field.
 *
 * @throws Problem `bad_request`
 */
export function requiredNumberOf(
  form: Form,
  field: Field,
  bounds: { readonly min?: number; readonly max: number },
): number {
  const value = numberOf(form, field, bounds)
  if (value !== null) return value
  throw new Problem('bad_request', `${field.label} is empty; enter a whole number.`)
}

/** A price in cents; null if the field is empty. @throws Problem `bad_request` */
export function priceOf(form: Form, { name, label }: Field): number | null {
  const text = (form.get(name) ?? '').trim()
  if (text === '') return null
  const cents = priceCentsOf(text)
  if (cents !== undefined) return cents
  throw new Problem(
    'bad_request',
    `${label}: enter a price in US dollars such as 25 or 24.90, or nothing if it is on request.`,
  )
}

/** One of the choices of a field. @throws Problem `bad_request` */
export function choiceOf<Choice extends string>(
  form: Form,
  field: Field,
  choices: readonly Choice[],
): Choice {
  const value = form.get(field.name)
  const choice = choices.find((one) => one === value)
  if (choice !== undefined) return choice
  throw new Problem('bad_request', `${field.label} is one of ${choices.join(', ')}.`)
}
