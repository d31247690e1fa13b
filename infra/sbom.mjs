import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

// Prints the packages that production installs, and those built into the web app, as CycloneDX 1.5.
// `npm sbom --omit=dev` is not used because it omits packages that a development dependency needs too. Plain
// JavaScript, so that CI can use any Node.

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..')

/**
 * @typedef {object} LockEntry
 * @property {string} [version]
 * @property {string} [integrity]
 * @property {string} [license]
 * @property {string} [resolved]
 * @property {boolean} [link]
 * @property {Record<string, string>} [dependencies]
 * @property {Record<string, string>} [devDependencies]
 * @property {Record<string, string>} [optionalDependencies]
 * @property {Record<string, string>} [peerDependencies]
 * @property {Record<string, { optional?: boolean }>} [peerDependenciesMeta]
 */

/** @type {{ name: string, version: string, packages: Record<string, LockEntry> }} */
const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'))

/** The web app is built from its development dependencies, except those that only build it. */
const WEB = 'services/web'
const WEB_TOOLS = ['vite']

/** Whether a folder has a package of the project that production installs. @param {string} folder */
function isOurs(folder) {
  return (
    folder === '' || (/^(packages|services)\/[^/]+$/.test(folder) && folder !== 'packages/testkit')
  )
}

/**
 * The folder in which Node finds a package from another's folder; undefined if it is not installed.
 * @param {string} from
 * @param {string} name
 */
function findPackage(from, name) {
  for (let folder = from; ; folder = dirname(folder) === '.' ? '' : dirname(folder)) {
    const path = folder === '' ? `node_modules/${name}` : `${folder}/node_modules/${name}`
    const entry = lock.packages[path]
    if (entry !== undefined) return entry.link === true ? entry.resolved : path
    if (folder === '') return undefined
  }
}

/** @param {string} path */
function neededBy(path) {
  const entry = lock.packages[path] ?? {}
  const { dependencies, optionalDependencies, peerDependencies = {}, peerDependenciesMeta } = entry
  // An optional peer is listed only if another package depends on it.
  const peers = Object.keys(peerDependencies).filter(
    (name) => peerDependenciesMeta?.[name]?.optional !== true,
  )
  const built = path === WEB ? Object.keys(entry.devDependencies ?? {}) : []
  const names = [
    ...Object.keys({ ...dependencies, ...optionalDependencies }),
    ...peers,
    ...built.filter((name) => !WEB_TOOLS.includes(name)),
  ]
  return names.map((name) => findPackage(path, name)).filter((found) => found !== undefined)
}

/** @type {Map<string, string[]>} */
const needs = new Map()
const open = Object.keys(lock.packages).filter(isOurs)
for (let path = open.pop(); path !== undefined; path = open.pop()) {
  if (needs.has(path)) continue
  const found = neededBy(path)
  needs.set(path, found)
  open.push(...found)
}

/** The name and version of a package. @param {string} path */
function refOf(path) {
  if (path === '') return `${lock.name}@${lock.version}`
  const name = path.includes('node_modules/')
    ? path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
    : `@${lock.name}/${path.slice(path.indexOf('/') + 1)}`
  return `${name}@${lock.packages[path]?.version ?? lock.version}`
}

/** @param {string} path */
function componentOf(path) {
  const { integrity, license } = lock.packages[path] ?? {}
  const ref = refOf(path)
  const at = ref.lastIndexOf('@')
  const [, digest] = /^sha512-(\S+)/.exec(integrity ?? '') ?? []
  return {
    type: 'library',
    'bom-ref': ref,
    name: ref.slice(0, at),
    version: ref.slice(at + 1),
    purl: `pkg:npm/${ref.replace(/^@/, '%40')}`,
    ...(license === undefined ? {} : { licenses: [{ license: { name: license } }] }),
    ...(digest === undefined
      ? {}
      : { hashes: [{ alg: 'SHA-512', content: Buffer.from(digest, 'base64').toString('hex') }] }),
  }
}

const paths = [...needs.keys()].filter((path) => path !== '').toSorted()
/** @type {Map<string, string>} Two folders may hold the same version. */
const pathOf = new Map(paths.map((path) => [refOf(path), path]))
const bom = {
  bomFormat: 'CycloneDX',
  specVersion: '1.5',
  version: 1,
  metadata: { component: { ...componentOf(''), type: 'application' } },
  components: [...pathOf.values()].map(componentOf),
  dependencies: ['', ...pathOf.values()].map((path) => ({
    ref: refOf(path),
    dependsOn: [...new Set((needs.get(path) ?? []).map(refOf))],
  })),
}
process.stdout.write(`${JSON.stringify(bom, null, 2)}\n`)
