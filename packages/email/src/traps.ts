import { readDomain } from './syntax.ts'

/** An iterable list of names. */
export interface EntryList {
  entries(): IterableIterator<string>
}

/** Tells whether an address is in the operator's list of spam traps or looks like a known kind. */
export interface TrapMatcher {
  match(local: string, domain: string): string | null
}

/** Patterns with a star at most; each is compared with every address. */
const PATTERNS_MAX = 1000

/**
 * Compiles entries of these forms, in lower case: `name@domain.example` (one address),
 * `@domain.example` or `domain.example` (a domain and its subdomains), `name` or `name@` (a local
 * part at any domain); a star stands for any characters. Domains without a star may be in Unicode.
 */
export function compileTraps(list: EntryList): TrapMatcher {
  const locals = new Set<string>()
  const domains = new Set<string>()
  const addresses = new Set<string>()
  const patterns: { readonly entry: string; readonly fits: Fits }[] = []
  for (const entry of list.entries()) {
    if (entry.includes('*')) {
      if (patterns.length < PATTERNS_MAX) patterns.push({ entry, fits: patternOf(formOf(entry)) })
      continue
    }
    const form = formOf(entry)
    const at = form.lastIndexOf('@')
    if (form.endsWith('@')) locals.add(form.slice(0, -1))
    else if (at === 0) domains.add(asciiOf(form.slice(1)))
    else addresses.add(`${form.slice(0, at)}@${asciiOf(form.slice(at + 1))}`)
  }
  return {
    match(localPart, domain) {
      const local = localPart.toLowerCase()
      if (addresses.size > 0 && addresses.has(`${local}@${domain}`)) return `${local}@${domain}`
      if (locals.has(local)) return local
      if (domains.size > 0) {
        for (let name = domain; name !== ''; name = parentOf(name)) {
          if (domains.has(name)) return name
        }
      }
      if (patterns.length === 0) return null
      const found = patterns.find((pattern) => pattern.fits(local, domain))
      return found?.entry ?? null
    },
  }
}

/** The A-label form, as in parsed mailboxes. */
function asciiOf(domain: string): string {
  const read = readDomain(domain)
  return read.ok ? read.name : domain
}

function formOf(entry: string): string {
  if (entry.includes('@')) return entry
  return entry.includes('.') ? `@${entry}` : `${entry}@`
}

type Fits = (local: string, domain: string) => boolean

/** The test of a form with a star: of the local part, of the domain and those above it, or of both. */
function patternOf(form: string): Fits {
  const parts = form.split('*')
  if (form.endsWith('@')) return (local) => fits(`${local}@`, parts)
  if (!form.startsWith('@')) return (local, domain) => fits(`${local}@${domain}`, parts)
  return (_, domain) => {
    for (let name = domain; name !== ''; name = parentOf(name)) {
      if (fits(`@${name}`, parts)) return true
    }
    return false
  }
}

/** Matches a star pattern by its literal parts in order: linear in the text for each part. */
function fits(text: string, parts: readonly string[]): boolean {
  const first = parts[0] ?? ''
  const last = parts.at(-1) ?? ''
  if (text.length < first.length + last.length) return false
  if (!text.startsWith(first) || !text.endsWith(last)) return false
  let from = first.length
  const end = text.length - last.length
  for (const part of parts.slice(1, -1)) {
    const at = text.indexOf(part, from)
    if (at < 0 || at + part.length > end) return false
    from = at + part.length
  }
  return true
}

function parentOf(name: string): string {
  const dot = name.indexOf('.')
  return dot < 0 ? '' : name.slice(dot + 1)
}
