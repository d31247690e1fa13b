import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openApiDocument } from '@plumbline/contract/openapi'
import type { JsonSchema } from '@plumbline/contract/json-schema'
import { ROOT } from '../run.ts'

/** The part of an operation of the OpenAPI document that the module uses. */
interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly parameters?: readonly (Reference | Parameter)[]
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema: Reference }>>
  }
  readonly responses: Readonly<Record<string, object>>
}

interface Reference {
  readonly $ref: string
}

interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required?: boolean
  readonly schema: JsonSchema
  readonly description?: string
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>
    readonly parameters: Readonly<Record<string, Parameter>>
  }
}

/** Paths without a method in the client: for probes and tools, which need no key. */
const LEFT_OUT: readonly string[] = ['/healthz', '/readyz', '/openapi.json']

/**
 * The text of a Python module with a method for each operation, which only needs Python's standard
 * library. The parts that do not depend on operations are in `plumbline-template.py`.
 */
export async function pythonModule(): Promise<string> {
  const document = describedService()
  const template = await readFile(join(ROOT, 'infra/clients/plumbline-template.py'), 'utf8')
  const operations = Object.entries(document.paths)
    .filter(([path]) => !LEFT_OUT.includes(path))
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) =>
        methodOf(document, path, method, operation),
      ),
    )
  return template
    .replace('# ERRORS', () => errorClasses(document))
    .replace('    # OPERATIONS\n', () => operations.join('\n'))
}

/** Safe because the contract generates the document in this form. */
function describedService(): Document {
  return JSON.parse(JSON.stringify(openApiDocument(''))) as Document
}

/** A class for each refusal that an operation can return, and a table of them by status. */
function errorClasses(document: Document): string {
  const byStatus = new Map<number, string>()
  for (const { responses } of Object.values(document.paths).flatMap((methods) =>
    Object.values(methods),
  )) {
    for (const [status, response] of Object.entries(responses)) {
      if (Number(status) >= 400 && '$ref' in response) {
        byStatus.set(Number(status), errorName(nameIn(response as Reference)))
      }
    }
  }
  const sorted = [...byStatus].toSorted(([a], [b]) => a - b)
  const classes = sorted.map(
    ([status, name]) => `class ${name}(RefusedError):\n    """${status}"""\n`,
  )
  const table = sorted.map(([status, name]) => `    ${status}: ${name},\n`).join('')
  return `${classes.join('\n\n')}\n\n_ERRORS = {\n${table}}`
}

/** The name of a refusal's class; `TimeoutError` exists in Python. */
function errorName(refusal: string): string {
  return refusal === 'Timeout' ? 'GatewayTimeoutError' : `${refusal}Error`
}

/** An argument of a method, besides `self`. */
interface Argument {
  readonly name: string
  readonly python: string
  readonly type: string
  readonly required: boolean
  readonly text: string
}

function methodOf(document: Document, path: string, method: string, operation: Operation): string {
  const parameters = (operation.parameters ?? []).map((each) => resolved(document, each))
  const inPath = parameters.filter((each) => each.in === 'path')
  const inQuery = parameters.filter((each) => each.in === 'query')
  const isSentOnce = parameters.some((each) => each.name === 'Idempotency-Key')
  const content = operation.requestBody?.content ?? {}
  const takesFile = 'multipart/form-data' in content
  const fields = bodyFields(document, content)
  const positional = inPath.map(({ name }) => `${pythonName(name)}: str`)
  const named = [...fields, ...inQuery.map(queryArgument)].toSorted(requiredFirst)
  const extra = [
    ...(takesFile ? ['file_name: Optional[str] = None'] : []),
    ...(parameters.some((each) => each.name === 'Prefer') ? ['prefer: Optional[str] = None'] : []),
    ...(isSentOnce ? ['idempotency_key: Optional[str] = None'] : []),
  ]
  const keywords = [...named.map(declared), ...extra]
  const signature = ['self', ...positional, ...(keywords.length > 0 ? ['*'] : []), ...keywords]
  const steps = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => `{_quoted(${pythonName(name)})}`)
  const lines = [
    `    def ${snake(operation.operationId)}(`,
    ...signature.map((each) => `        ${each},`),
    `    ) -> ${resultOf(operation)}:`,
    `        ${docstring(operation, named)}`,
    `        headers: Dict[str, Optional[str]] = {${headersText(isSentOnce, extra)}}`,
    `        query: Dict[str, Any] = {${inQuery.map(pair).join(', ')}}`,
  ]
  const call = [`"${method.toUpperCase()}"`, `f"${steps}"`, 'query', 'headers']
  if (Object.keys(content).length > 0) {
    const sent = fields.filter(({ name }) => name !== 'file')
    lines.push(
      `        fields: Dict[str, Any] = {${sent.map(pair).join(', ')}}`,
      '        body = {name: value for name, value in fields.items() if value is not None}',
    )
    call.push('body', ...(takesFile ? ['file', 'file_name'] : []))
  }
  return `${lines.join('\n')}\n        return self._call(${call.join(', ')})\n`
}

/** Fields of the body, of all forms that it may have. */
function bodyFields(
  document: Document,
  content: NonNullable<Operation['requestBody']>['content'],
): readonly Argument[] {
  const forms = Object.values(content).map(
    ({ schema }) => document.components.schemas[nameIn(schema)] ?? {},
  )
  const found = new Map<string, Argument>()
  for (const form of forms) {
    for (const [name, value] of Object.entries(asObject(form['properties']))) {
      const schema = asObject(value)
      const required = forms.every((each) => listOf(each['required']).includes(name))
      const type = name === 'file' ? 'Any' : name === 'mapping' ? 'Dict[str, Any]' : typeOf(schema)
      found.set(name, { name, python: pythonName(name), type, required, text: textOf(schema) })
    }
  }
  return [...found.values()]
}

function queryArgument({ name, schema, required, description }: Parameter): Argument {
  const text = description ?? textOf(schema)
  return { name, python: pythonName(name), type: typeOf(schema), required: required === true, text }
}

function requiredFirst(a: Argument, b: Argument): number {
  return Number(b.required) - Number(a.required)
}

function declared({ python, type, required }: Argument): string {
  return required ? `${python}: ${type}` : `${python}: Optional[${type}] = None`
}

function pair({ name }: { readonly name: string }): string {
  return `"${name}": ${pythonName(name)}`
}

function headersText(isSentOnce: boolean, extra: readonly string[]): string {
  return [
    ...(isSentOnce ? ['"Idempotency-Key": idempotency_key or uuid.uuid4().hex'] : []),
    ...(extra.some((each) => each.startsWith('prefer')) ? ['"Prefer": prefer'] : []),
  ].join(', ')
}

/**
 * The return type: parsed JSON; for a possible file the response itself, which the caller reads and
 * closes.
 */
function resultOf({ responses }: Operation): string {
  const good = Object.entries(responses).filter(([status]) => Number(status) < 300)
  const types = good.flatMap(([, response]) =>
    Object.keys(asObject('content' in response ? response.content : {})),
  )
  if (types.length === 0) return 'None'
  return types.every((type) => type === 'application/json') ? 'Dict[str, Any]' : 'Any'
}

function docstring({ summary }: Operation, named: readonly Argument[]): string {
  const lines = named
    .filter(({ text }) => text !== '')
    .map(({ python, text }) => `        ${python}: ${text}`)
  const text = [summary, ...(lines.length > 0 ? ['', ...lines] : [])].join('\n')
  const safe = text.replaceAll('\\', '\\\\').replaceAll('"""', "'''")
  return lines.length > 0 ? `"""${safe}\n        """` : `"""${safe}"""`
}

function textOf(schema: JsonSchema): string {
  const { description } = schema
  return typeof description === 'string' ? description.replaceAll('\n', ' ') : ''
}

function typeOf(schema: JsonSchema): string {
  switch (schema['type']) {
    case 'string':
      return 'str'
    case 'integer':
      return 'int'
    case 'number':
      return 'float'
    case 'boolean':
      return 'bool'
    case 'array':
      return 'Any'
    case 'object':
      return 'Dict[str, Any]'
    default:
      return 'Any'
  }
}

/** Keywords of Python, which cannot be names. */
const RESERVED: readonly string[] = [
  'from',
  'with',
  'in',
  'is',
  'not',
  'and',
  'or',
  'if',
  'import',
  'class',
  'def',
]

function pythonName(name: string): string {
  const plain = name.replaceAll('-', '_')
  return RESERVED.includes(plain) ? `${plain}_` : plain
}

/** `lookUpEmail` as `look_up_email`. */
function snake(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

function resolved(document: Document, parameter: Reference | Parameter): Parameter {
  if (!('$ref' in parameter)) return parameter
  const found = document.components.parameters[nameIn(parameter)]
  if (found === undefined) throw new Error(`there is no parameter ${parameter.$ref}`)
  return found
}

function nameIn({ $ref }: Reference): string {
  return $ref.split('/').at(-1) ?? ''
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** Safe because a schema, and its properties, are objects. */
function asObject(value: unknown): JsonSchema {
  return (typeof value === 'object' && value !== null ? value : {}) as JsonSchema
}
