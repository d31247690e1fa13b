import { Validator } from '@seriousme/openapi-schema-validator'
import { expect, test } from 'vitest'
import { openApiDocument } from './openapi.ts'
import { PROBLEMS } from './problem.ts'
import { PRODUCTS } from './products.ts'
import { RESULTS } from './results.ts'

const document = JSON.parse(JSON.stringify(openApiDocument('A table.')))

interface Operation {
  readonly operationId: string
  readonly responses: Readonly<Record<string, { readonly $ref?: string }>>
}

function operations(): readonly (readonly [string, Operation])[] {
  return Object.entries<Record<string, Operation>>(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => [`${method} ${path}`, operation] as const),
  )
}

test('is a valid OpenAPI 3.1 document', async () => {
  const result = await new Validator().validate(structuredClone(document))
  expect(result).toEqual({ valid: true })
})

test('every reference is to an existing component', () => {
  const text = JSON.stringify(document)
  const paths = new Set(Array.from(text.matchAll(/"\$ref":"#\/([^"]+)"/g), ([, path = '']) => path))
  expect(paths.size).toBeGreaterThan(20)
  for (const path of paths) {
    let place = document
    for (const step of path.split('/')) place = place[step]
    expect([path, typeof place]).toEqual([path, 'object'])
  }
})

test('every component is used', () => {
  const text = JSON.stringify(document)
  for (const [kind, parts] of Object.entries<object>(document.components)) {
    if (kind === 'securitySchemes') continue
    for (const name of Object.keys(parts)) {
      expect(text).toContain(`"#/components/${kind}/${name}"`)
    }
  }
})

test('operations have unique names', () => {
  const names = operations().map(([, { operationId }]) => operationId)
  expect(new Set(names).size).toBe(names.length)
})

test('refusals have the statuses of the problems that they refer to', () => {
  for (const [, { responses }] of operations()) {
    for (const [status, response] of Object.entries(responses)) {
      if (Number(status) < 400) continue
      const name = response.$ref?.split('/').at(-1)
      const problem = Object.entries(PROBLEMS).find(
        ([code]) => code.replaceAll('_', '') === name?.toLowerCase(),
      )
      expect([name, problem?.[1].status]).toEqual([name, Number(status)])
    }
  }
})

test('refusals have the headers that they come with', () => {
  const { responses } = document.components
  expect(Object.keys(responses.Unauthorized.headers)).toEqual(['X-Request-Id', 'WWW-Authenticate'])
  expect(Object.keys(responses.PaymentRequired.headers)).toEqual([
    'X-Request-Id',
    'X-Credits-Charged',
    'X-Credits-Remaining',
    'RateLimit',
    'RateLimit-Policy',
  ])
  expect(Object.keys(responses.TooManyRequests.headers)).toContain('Retry-After')
})

test('each product is described with every field of its result', () => {
  for (const product of PRODUCTS) {
    const reference = document.paths[`/v1/${product}`].post.responses[200].content
    const name = reference['application/json'].schema.$ref.split('/').at(-1)
    const { properties } = document.components.schemas[name]
    expect(Object.keys(properties)).toEqual([...Object.keys(RESULTS[product].shape), 'explain'])
  }
})

test('begins with a first call, and has the section about test keys last', () => {
  expect(document.info.description).toMatch(/^Make a key .*\n\n```\ncurl /)
  expect(document.info.description).not.toContain('A table.')
  expect(document.tags.at(-1)).toEqual({ name: 'test keys', description: 'A table.' })
})
