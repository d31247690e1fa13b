import { magicAnswer, magicValues, type MagicValue } from '@plumbline/contract/magic'
import { MAGIC_FAULTS, type MagicFault } from '@plumbline/contract/magic-values'
import type { Outcome } from '@plumbline/contract/outcome'
import { PROBLEMS } from '@plumbline/contract/problem'
import { CHECKS, PRODUCT_PLANS, type Check, type Product } from '@plumbline/contract/products'
import type { Scorer } from '@plumbline/contract/score'
import { assembleResult } from '@plumbline/pipeline/assemble'

/**
 * The section about test keys in the reference: every magic value with its response, generated from
 * the responses themselves. Markdown.
 */
export function testKeysText(scorer: Scorer): string {
  return [
    'A test key answers from the values below, asks nobody and takes no credits; any other value gets the good verdict, that of the first row (an email that is no address at all that of `invalid_syntax`).',
    'A row has the status and reason that `explain` gives, and the fields of the answer that differ from the first row; a field that names what was sent is as it was sent. In a bundle each part answers by its own value.',
    'A value that stands for a refusal refuses the whole call; in a batch its row, also in a bundle, ends with status `error` and is not charged.',
    ...CHECKS.map((check) => tableOf(check, scorer)),
  ].join('\n\n')
}

/** Products whose fields together show all facts of a check. */
const SHOWN: Readonly<Record<Check, readonly Product[]>> = {
  email: ['email', 'deliverability'],
  phone: ['phone'],
  ip: ['ip'],
  domain: ['domain'],
}

function tableOf(check: Check, scorer: Scorer): string {
  const products = SHOWN[check]
  const values = magicValues(check)
  const [good] = values
  if (good === undefined) throw new Error(`no magic value for ${check}`)
  const fieldsOf = (product: Product, { value }: MagicValue): Fields =>
    fieldsIn(product, check, value, scorer)
  const line = (row: MagicValue): string => {
    const cells = products.map((product) => {
      if (row.fault !== null) return ''
      const fields = fieldsOf(product, row)
      return written(row === good ? fields : difference(fields, fieldsOf(product, good)))
    })
    return `| ${[`\`${row.value}\``, meaningOf(check, row), ...cells].join(' | ')} |`
  }
  const columns = ['value', 'answer', ...products.map((product) => `\`/v1/${product}\``)]
  return [
    `### ${check}`,
    '',
    `| ${columns.join(' | ')} |`,
    `|${columns.map(() => '---|').join('')}`,
    ...values.map(line),
  ].join('\n')
}

/** Fields of an answer by name. */
type Fields = ReadonlyMap<string, unknown>

/** Fields that only repeat the request or the price, so that only their absence is shown. */
const ECHOES: ReadonlySet<string> = new Set([
  'email',
  'phone',
  'ip',
  'domain',
  'national_format',
  'credits_used',
])

function fieldsIn(product: Product, check: Check, value: string, scorer: Scorer): Fields {
  const outcomes = { [check]: outcomeOf(check, value, product) }
  const entries: readonly [string, unknown][] = Object.entries(
    assembleResult(product, outcomes, scorer),
  )
  return new Map(entries.filter(([name, field]) => !ECHOES.has(name) || field === null))
}

function outcomeOf(check: Check, value: string, product: Product): Outcome {
  const answer = magicAnswer(check, value, PRODUCT_PLANS[product].depth)
  if (answer.kind === 'problem') throw new Error(`${value} has no outcome`)
  return answer.outcome
}

function difference(fields: Fields, from: Fields): Fields {
  return new Map([...fields].filter(([name, field]) => from.get(name) !== field))
}

function written(fields: Fields): string {
  return [...fields].map(([name, field]) => `\`${name}: ${JSON.stringify(field)}\``).join(', ')
}

function meaningOf(check: Check, { value, fault }: MagicValue): string {
  if (fault !== null) return faultMeaning(fault)
  const { status, reason } = outcomeOf(check, value, check)
  return `${status}, \`${reason}\``
}

function faultMeaning(fault: MagicFault): string {
  const effect = MAGIC_FAULTS[fault]
  if ('delayMs' in effect) {
    return `as the first row, after ${effect.delayMs / 1_000} seconds (in a batch at once)`
  }
  const { status, error } = PROBLEMS[effect.problem]
  return `${status} ${error}`
}
