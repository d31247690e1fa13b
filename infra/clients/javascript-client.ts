import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { captureTool, ROOT } from '../run.ts'
import { contractTypes, type WantedType } from './contract-types.ts'

/** Module of `packages/client` that customers get, with everything that it imports. */
const ENTRY = 'public'

/** Version of JavaScript that Node 18, the oldest supported version, understands. */
const TARGET = 'es2022'

/**
 * Builds `@plumbline/client` into a folder: JavaScript modules with their types, without
 * dependencies. The parts of the contract that it uses are included: values as modules, types written out.
 *
 * @throws if the compiler reports errors, or the contract has no shape of a type
 */
export async function buildJavaScriptClient(folder: string): Promise<void> {
  // Within the project, so that the names of its packages resolve.
  await mkdir(join(ROOT, 'node_modules/.cache'), { recursive: true })
  const compiled = await mkdtemp(join(ROOT, 'node_modules/.cache/client-'))
  try {
    await compile(compiled)
    await rm(folder, { recursive: true, force: true })
    await mkdir(join(folder, 'dist'), { recursive: true })
    await copyModules(compiled, join(folder, 'dist'))
    await copyTypes(compiled, join(folder, 'dist'))
    await writeManifest(folder)
    await copyFile(join(ROOT, 'packages/client/README.md'), join(folder, 'README.md'))
  } finally {
    await rm(compiled, { recursive: true, force: true })
  }
}

async function compile(folder: string): Promise<void> {
  const project = join(folder, 'tsconfig.json')
  const options = {
    extends: join(ROOT, 'tsconfig.json'),
    compilerOptions: {
      target: TARGET,
      noEmit: false,
      declaration: true,
      rewriteRelativeImportExtensions: true,
      removeComments: false,
      rootDir: join(ROOT, 'packages'),
      outDir: join(folder, 'out'),
    },
    files: [join(ROOT, 'packages/client/src', `${ENTRY}.ts`), ...(await contractValues())],
    include: [],
  }
  await writeFile(project, JSON.stringify(options))
  const { exitCode, output } = await captureTool('tsc', ['-p', project])
  if (exitCode !== 0) throw new Error(`tsc refused the client:\n${output}`)
}

/**
 * Modules of the contract of which the client imports more than types: the compiler leaves other
 * packages out.
 */
async function contractValues(): Promise<readonly string[]> {
  const folder = join(ROOT, 'packages/client/src')
  const found = new Set<string>()
  for (const file of await readdir(folder)) {
    if (file.endsWith('.test.ts')) continue
    const text = await readFile(join(folder, file), 'utf8')
    for (const [, module = ''] of text.matchAll(VALUE_IMPORT)) {
      found.add(join(ROOT, 'packages/contract/src', `${module}.ts`))
    }
  }
  return [...found]
}

const VALUE_IMPORT = /^import \{[^}]+\} from '@plumbline\/contract\/([a-z0-9/-]+)'/gm

/** A module of the contract that the client imports. */
const CONTRACT_MODULE = /'@plumbline\/contract\/([a-z0-9/-]+)'/g

/** Copies the JavaScript modules, each with those that it imports. */
async function copyModules(compiled: string, dist: string): Promise<void> {
  const copied = new Set<string>()
  const copy = async (from: string, name: string): Promise<void> => {
    if (copied.has(name)) return
    copied.add(name)
    const text = await readFile(join(compiled, 'out', from), 'utf8')
    await writeFile(join(dist, name), text.replaceAll(CONTRACT_MODULE, `'./contract-$1.js'`))
    for (const [, module = ''] of text.matchAll(CONTRACT_MODULE)) {
      await copy(`contract/src/${module}.js`, `contract-${module}.js`)
    }
    if (from.startsWith('contract/') && /^import /m.test(text)) {
      throw new Error(`${from} imports other modules, which the client would then include`)
    }
    for (const [, module = ''] of text.matchAll(/(?:from |import\()'\.\/([a-z0-9-]+)\.js'/g)) {
      await copy(`client/src/${module}.js`, `${module}.js`)
    }
  }
  await copy(`client/src/${ENTRY}.js`, `${ENTRY}.js`)
}

/** Copies the types, and writes those of the contract that they use to `contract.d.ts`. */
async function copyTypes(compiled: string, dist: string): Promise<void> {
  const wanted: WantedType[] = []
  const running = (await readdir(dist)).map((file) => file.replace(/\.js$/, ''))
  // Iterating a set includes what is added meanwhile: modules that only have types.
  const names = new Set(running.filter((name) => !name.startsWith('contract-')))
  for (const name of names) {
    const text = await readFile(join(compiled, 'out/client/src', `${name}.d.ts`), 'utf8')
    const imports = /import type \{([^}]+)\} from '@plumbline\/contract\/([a-z0-9/-]+)'/g
    for (const [, types = '', module = ''] of text.matchAll(imports)) {
      for (const type of types.split(',')) wanted.push({ module, type: type.trim() })
    }
    for (const [, module = ''] of text.matchAll(/from '\.\/([a-z0-9-]+)\.[jt]s'/g))
      names.add(module)
    const own = text
      .replaceAll(CONTRACT_MODULE, `'./contract.js'`)
      .replaceAll(/'\.\/([a-z0-9-]+)\.ts'/g, `'./$1.js'`)
    await writeFile(join(dist, `${name}.d.ts`), own)
  }
  await writeFile(
    join(dist, 'contract.d.ts'),
    await contractTypes(wanted.filter(({ type }) => type !== '')),
  )
}

async function writeManifest(folder: string): Promise<void> {
  const { version, license } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
  const manifest = {
    name: '@plumbline/client',
    version,
    description: 'Validates and enriches emails, phone numbers, IP addresses and domains',
    license,
    type: 'module',
    engines: { node: '>=18' },
    sideEffects: false,
    exports: { '.': { types: `./dist/${ENTRY}.d.ts`, default: `./dist/${ENTRY}.js` } },
    types: `./dist/${ENTRY}.d.ts`,
    // Bundlers for browsers leave out the module that reads local files.
    browser: { './dist/platform-node.js': false },
    files: ['dist', 'README.md'],
  }
  await writeFile(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
}
