import type { JsonSchema } from '@plumbline/contract/json-schema'

/**
 * A JSON Schema (2020-12) as the text of a TypeScript type.
 *
 * @param depth indentation level of its lines
 * @throws for an unknown keyword, which would otherwise be ignored
 */
export function typeScriptOf(schema: JsonSchema, depth = 0): string {
  const options = schema['anyOf'] ?? schema['oneOf']
  if (Array.isArray(options))
    return options.map((option) => typeScriptOf(option, depth)).join(' | ')
  if (schema['const'] !== undefined) return JSON.stringify(schema['const'])
  if (Array.isArray(schema['enum']))
    return schema['enum'].map((word) => JSON.stringify(word)).join(' | ')
  const { type } = schema
  if (Array.isArray(type))
    return type.map((one) => ofType({ ...schema, type: one }, depth)).join(' | ')
  return ofType(schema, depth)
}

function ofType(schema: JsonSchema, depth: number): string {
  switch (schema['type']) {
    case 'string':
    case 'boolean':
    case 'null':
      return schema['type']
    case 'number':
    case 'integer':
      return 'number'
    case 'array':
      return arrayOf(schema, depth)
    case 'object':
      return objectOf(schema, depth)
    case undefined:
      if (schema['$ref'] === undefined && schema['allOf'] === undefined) return 'unknown'
      throw new Error(`no type is known for ${JSON.stringify(schema)}`)
    default:
      throw new Error(`no type is known for ${JSON.stringify(schema['type'])}`)
  }
}

function arrayOf(schema: JsonSchema, depth: number): string {
  const items = asSchema(schema['items'])
  const item = items === undefined ? 'unknown' : typeScriptOf(items, depth)
  return /[|]/.test(item) && !item.startsWith('{') ? `(${item})[]` : `${item}[]`
}

function objectOf(schema: JsonSchema, depth: number): string {
  const properties = Object.entries(asSchema(schema['properties']) ?? {})
  if (properties.length === 0) return recordOf(schema, depth)
  const required = new Set(Array.isArray(schema['required']) ? schema['required'] : [])
  const indent = '  '.repeat(depth + 1)
  const lines = properties.map(([name, value]) => {
    const inner = asSchema(value) ?? {}
    const text = typeScriptOf(inner, depth + 1)
    const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)
    const field = required.has(name) ? `${key}: ${text}` : `${key}?: ${text} | undefined`
    return `${documented(inner['description'], indent)}${indent}${field}`
  })
  return `{\n${lines.join('\n')}\n${'  '.repeat(depth)}}`
}

/** An object with any keys, or with the keys of a list of values. */
function recordOf(schema: JsonSchema, depth: number): string {
  const values = asSchema(schema['additionalProperties'])
  const value = values === undefined ? 'unknown' : typeScriptOf(values, depth)
  const names = asSchema(schema['propertyNames'])
  const name = names === undefined ? 'string' : typeScriptOf(names, depth)
  const record = `Record<${name}, ${value}>`
  return name !== 'string' && schema['required'] === undefined ? `Partial<${record}>` : record
}

function documented(description: unknown, indent: string): string {
  if (typeof description !== 'string') return ''
  return `${indent}/** ${description.replaceAll('*/', '* /').replaceAll('\n', ' ')} */\n`
}

/** Safe because a schema is an object; `true` and `false` have no type. */
function asSchema(value: unknown): JsonSchema | undefined {
  return typeof value === 'object' && value !== null ? (value as JsonSchema) : undefined
}
