import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { parseSync } from 'oxc-parser'
import { ROOT } from './run.ts'

/**
 * One import of a source file, type imports included: `import`, `export … from`, `import()` and
 * `import('…')` as a type.
 */
export interface Import {
  /** As written, for example `./mx.ts`, `node:net`, `@plumbline/net/egress`. */
  readonly specifier: string
  /** Names imported as values; null for an import of the whole module or without names. */
  readonly names: readonly string[] | null
}

/** Folders with sources of the project. */
const FOLDERS = ['packages', 'services', 'test', 'infra']

/** Paths of all sources of the project, from its root, in order. */
export function sourceFiles(): readonly string[] {
  return FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((path) => /\.(?:tsx?|mjs)$/.test(path) && !path.includes('node_modules'))
      .map((path) => join(folder, path)),
  ).toSorted()
}

/** Names of the packages, in order. */
export function packageFolders(): readonly string[] {
  return readdirSync(join(ROOT, 'packages')).toSorted()
}

/**
 * Dependencies that the `package.json` of a source's package or program names; null for a source
 * outside of packages and programs.
 */
export function declaredBy(file: string): ReadonlySet<string> | null {
  const home = /^(?:packages|services)\/[^/]+/.exec(file)?.[0]
  if (home === undefined) return null
  const { dependencies, devDependencies } = JSON.parse(readSource(join(home, 'package.json')))
  return new Set([...Object.keys(dependencies ?? {}), ...Object.keys(devDependencies ?? {})])
}

/** The text of a source of the project. */
export function readSource(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8')
}

/** Everything that a source imports, in any form; throws if it does not parse. */
export function importsOf(file: string, text: string): readonly Import[] {
  const { module, errors } = parseSync(file, text)
  if (errors.length > 0) throw new Error(`${file} does not parse: ${errors[0]?.message}`)
  const imports: Import[] = module.staticImports.map(({ moduleRequest, entries }) => ({
    specifier: moduleRequest.value,
    names: entries.some(({ importName }) => importName.name === null)
      ? null
      : entries.filter(({ isType }) => !isType).map(({ importName }) => importName.name ?? ''),
  }))
  for (const { entries } of module.staticExports) {
    for (const { moduleRequest } of entries) {
      if (moduleRequest !== null) imports.push({ specifier: moduleRequest.value, names: null })
    }
  }
  for (const { moduleRequest } of module.dynamicImports) {
    const specifier = text.slice(moduleRequest.start, moduleRequest.end)
    const literal = /^(['"`])([^'"`$]+)\1$/.exec(specifier)?.[2]
    if (literal !== undefined) imports.push({ specifier: literal, names: null })
    else if (!specifier.startsWith('JSON.stringify')) {
      imports.push({ specifier: COMPUTED, names: null })
    }
  }
  for (const [, specifier = ''] of text.matchAll(/(?<![\w.])import\('([^']+)'\)\./g)) {
    imports.push({ specifier, names: [] })
  }
  return imports
}

/** The specifier of an `import()` whose argument is computed. */
export const COMPUTED = '(computed)'

/** The source file that an import names; null if it is not of this project. */
export function targetOf(file: string, specifier: string): string | null {
  if (specifier.startsWith('.')) return normalize(join(dirname(file), specifier))
  const [, packageName, path] = /^@plumbline\/([a-z0-9-]+)\/(.+)$/.exec(specifier) ?? []
  if (packageName === undefined || path === undefined) return null
  if (packageName === 'test') return join('test', path)
  const folder = SERVICES.has(packageName) ? 'services' : 'packages'
  return path.startsWith('data/')
    ? join(folder, packageName, path)
    : join(folder, packageName, 'src', `${path}.ts`)
}

/** Names of the programs, in `services`. */
export const SERVICES: ReadonlySet<string> = new Set(
  readdirSync(join(ROOT, 'services'), { encoding: 'utf8' }),
)

/** Groups of files that import each other in a cycle; empty if there is none. */
export function cyclesIn(
  graph: ReadonlyMap<string, readonly string[]>,
): readonly (readonly string[])[] {
  const order = new Map<string, number>()
  const lowest = new Map<string, number>()
  const path: string[] = []
  const open = new Set<string>()
  const circles: string[][] = []

  // Tarjan's strongly connected components.
  function visit(file: string): void {
    const mine = order.size
    order.set(file, mine)
    lowest.set(file, mine)
    path.push(file)
    open.add(file)
    for (const next of graph.get(file) ?? []) {
      if (!order.has(next)) visit(next)
      if (open.has(next)) {
        lowest.set(file, Math.min(lowest.get(file) ?? 0, lowest.get(next) ?? 0))
      }
    }
    if (lowest.get(file) !== mine) return
    const members = path.splice(path.indexOf(file))
    for (const member of members) open.delete(member)
    if (members.length > 1 || graph.get(file)?.includes(file)) circles.push(members.toSorted())
  }

  for (const file of graph.keys()) if (!order.has(file)) visit(file)
  return circles
}
