import { z } from 'zod'
import { isIpLiteral } from './ip-literal.ts'
import { Problem } from './problem.ts'
import { checksOf, type Check, type Product } from './products.ts'

/** Characters a value may have at most. Source: decision 5. */
export const VALUE_MAX_CHARS = 1_000

const SHAPES = {
  email: 'an email address',
  phone:
    'a phone number in E.164 form: "+", the country code and the number, 1 to 15 digits in all',
  ip: 'an IPv4 or IPv6 address in its usual notation',
  domain: 'a domain name (no IP address) without scheme, path, port, "@" or spaces',
} as const satisfies Record<Check, string>

/**
 * The part of the rules for values that a regular expression can express; `READABLE` checks the
 * rest.
 */
const PATTERNS: { readonly [C in Check]?: string } = {
  phone: '^\\+[0-9]{1,15}$',
  domain: '^[^\\s/:@]+$',
}

/** For each check whether a value has the required notation (decision 5). */
export const READABLE: Readonly<Record<Check, (value: string) => boolean>> = {
  email: () => true,
  phone: (value) => /^\+[0-9]{1,15}$/.test(value),
  ip: isIpLiteral,
  domain: (value) => !/[\s/:@]/u.test(value) && !isIpLiteral(value),
}

function field(check: Check, example: string) {
  const pattern = PATTERNS[check]
  const wanted = `\`${check}\` must be ${SHAPES[check]}`
  return z
    .string(`${wanted}, sent as a string.`)
    .min(1, `${wanted}; it was empty.`)
    .max(VALUE_MAX_CHARS, `\`${check}\` must be at most ${VALUE_MAX_CHARS} characters long.`)
    .refine(READABLE[check], `${wanted}.`)
    .meta({
      description: `${SHAPES[check].charAt(0).toUpperCase()}${SHAPES[check].slice(1)}.`,
      example,
      ...(pattern === undefined ? {} : { pattern }),
    })
}

const email = field('email', 'ada@example.com')
const phone = field('phone', '+442079460123')
const ip = field('ip', '8.8.8.8')
const domain = field('domain', 'example.com')
const explain = z
  .boolean('`explain` must be true or false.')
  .meta({ description: 'Adds how each part of the answer is known.' })
  .optional()

const deliverability = z.strictObject({ email, phone: phone.optional(), explain })
const bundle = z.strictObject({
  email,
  phone: phone.optional(),
  ip: ip.optional(),
  domain: domain.optional(),
  explain,
})

/** Request bodies of the seven products. Source: spec.md section 4, decisions 2 and 5. */
export const REQUESTS = {
  email: z.strictObject({ email, explain }),
  ip: z.strictObject({ ip, explain }),
  phone: z.strictObject({ phone, explain }),
  domain: z.strictObject({ domain, explain }),
  deliverability,
  'contact-intel': bundle,
  'fraud-signals': bundle,
} as const satisfies Record<Product, z.ZodType>

/** Request body of a product; of any product if none is given. */
export type RequestOf<P extends Product = Product> = z.infer<(typeof REQUESTS)[P]>

/** A parsed request: a value for each supplied check, as sent. */
export interface ProductRequest {
  readonly values: { readonly [C in Check]?: string }
  readonly explain: boolean
}

/**
 * Parses the body of a product.
 *
 * @throws Problem `bad_request` that names the first invalid field and what it should be (decisions
 * 5 and 7)
 */
export function readRequest(product: Product, body: unknown): ProductRequest {
  const read = REQUESTS[product].safeParse(body)
  if (!read.success) throw refusal(product, body, read.error)
  const { explain: explained, ...values } = read.data
  return { values, explain: explained === true }
}

function refusal(product: Product, body: unknown, error: z.ZodError): Problem {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    return new Problem('bad_request', 'The body must be a JSON object.')
  }
  const unknown = error.issues.find((issue) => issue.code === 'unrecognized_keys')
  const first = unknown ?? error.issues[0]
  if (first?.code === 'unrecognized_keys') {
    return new Problem('bad_request', unknownFields(first.keys, [...checksOf(product), 'explain']))
  }
  const name = first?.path[0]
  if (typeof name === 'string' && !Object.hasOwn(body, name)) {
    return new Problem('bad_request', `\`${name}\` is missing; send it as a string.`)
  }
  return new Problem('bad_request', first?.message ?? 'The body is not as this endpoint takes it.')
}

/** The sentence that names unknown fields and lists the known ones. */
export function unknownFields(keys: readonly string[], known: readonly string[]): string {
  const shown = keys.slice(0, 3).map((key) => JSON.stringify(key.slice(0, 60)))
  const noun = keys.length === 1 ? 'Unknown field' : 'Unknown fields'
  return `${noun} ${shown.join(', ')}; the fields taken here are ${known.join(', ')}.`
}
