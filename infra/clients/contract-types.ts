import { join } from 'node:path'
import { isShape, jsonSchemaOf } from '@plumbline/contract/json-schema'
import { ROOT } from '../run.ts'
import { typeScriptOf } from './typescript-type.ts'

/** A type of the contract, and the module that exports it. */
export interface WantedType {
  readonly module: string
  readonly type: string
}

/**
 * Types of the contract as the text of a `.d.ts` file without imports. The shape of a type is the
 * schema of the same name in its module (`batchView` of `BatchView`, `explainShape` of `Explain`),
 * or the list of its values (`DELIMITERS` of `Delimiter`).
 *
 * @throws if a module has neither
 */
export async function contractTypes(wanted: readonly WantedType[]): Promise<string> {
  const texts = new Map<string, string>()
  const types = new Map([...PRODUCT_TYPES, ...wanted].map((each) => [each.type, each]))
  for (const { module, type } of types.values()) {
    texts.set(type, await textOf(await importContract(module), module, type))
  }
  const body = [...texts].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, text]) => text)
  return `${body.join('\n\n')}\n`
}

/** Types that are the keys of `BY_PRODUCT`. */
const PRODUCT_TYPES: readonly WantedType[] = [{ module: 'products', type: 'Product' }]

/** Tables of shapes by product, and the type that indexes each. */
const BY_PRODUCT: Readonly<Record<string, string>> = { RequestOf: 'REQUESTS', ResultOf: 'RESULTS' }

async function textOf(
  exported: Readonly<Record<string, unknown>>,
  module: string,
  type: string,
): Promise<string> {
  const table = exported[BY_PRODUCT[type] ?? '']
  if (typeof table === 'object' && table !== null) {
    const fields = Object.entries(table).map(
      ([product, shape]) => `  ${JSON.stringify(product)}: ${typeOf(shape, 1)}`,
    )
    return (
      `interface ${type}Product {\n${fields.join('\n')}\n}\n` +
      `export type ${type}<P extends Product = Product> = ${type}Product[P]`
    )
  }
  const name = type.charAt(0).toLowerCase() + type.slice(1)
  const shape = exported[name] ?? exported[`${name}Shape`]
  if (shape !== undefined) return `export type ${type} = ${typeOf(shape, 0)}`
  const words = exported[`${type.replaceAll(/(?<!^)([A-Z])/g, '_$1').toUpperCase()}S`]
  if (Array.isArray(words)) return `export type ${type} = ${words.map(quoted).join(' | ')}`
  throw new Error(`contract/${module} has no shape of ${type}; export its schema as ${name}`)
}

function typeOf(shape: unknown, depth: number): string {
  if (!isShape(shape)) throw new TypeError('a shape of the contract is a zod schema')
  return typeScriptOf(jsonSchemaOf(shape), depth)
}

function quoted(word: unknown): string {
  return JSON.stringify(word)
}

/** Safe because a module is an object with its exports. */
async function importContract(module: string): Promise<Readonly<Record<string, unknown>>> {
  const path = join(ROOT, 'packages/contract/src', `${module}.ts`)
  return (await import(path)) as Readonly<Record<string, unknown>>
}
