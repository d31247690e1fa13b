import { parseBlock, type IpBlock } from '@plumbline/net/address'
import { isMacroString } from './spf-macro.ts'

/** What a match means: pass, fail, softfail or neutral. */
export type SpfQualifier = '+' | '-' | '~' | '?'

/**
 * One directive of an SPF record; a target may hold macros, and is absent if it is the domain
 * itself.
 */
export type Mechanism = { readonly qualifier: SpfQualifier } & (
  | { readonly kind: 'all' }
  | { readonly kind: 'ip'; readonly block: IpBlock }
  | { readonly kind: 'include' | 'exists'; readonly target: string }
  | { readonly kind: 'ptr'; readonly target: string | undefined }
  | {
      readonly kind: 'a' | 'mx'
      readonly target: string | undefined
      readonly prefix4: number
      readonly prefix6: number
    }
)

/** An SPF record; `redirect` is absent if an `all` overrides it. */
export interface SpfRecord {
  readonly mechanisms: readonly Mechanism[]
  readonly redirect: string | undefined
}

/** Whether a TXT record is one of SPF. Source: RFC 7208 section 4.5. */
export function isSpfRecord(text: string): boolean {
  return /^v=spf1(?: |$)/i.test(text)
}

/** Parses a whole record, as RFC 7208 section 4.6 requires; null if any of it is malformed. */
export function parseSpf(text: string): SpfRecord | null {
  const terms = text.split(' ').slice(1).filter(Boolean)
  const mechanisms: Mechanism[] = []
  const modifiers = new Map<string, string>()
  for (const term of terms) {
    const [, name, value = ''] = /^([a-z][a-z0-9\-_.]*)=(.*)$/i.exec(term) ?? []
    if (name !== undefined) {
      const key = name.toLowerCase()
      const isOnce = key === 'redirect' || key === 'exp'
      if (isOnce ? modifiers.has(key) || !isTarget(value) : !isMacroString(value)) return null
      modifiers.set(key, value)
      continue
    }
    const mechanism = parseMechanism(term)
    if (mechanism === null) return null
    mechanisms.push(mechanism)
  }
  const hasAll = mechanisms.some(({ kind }) => kind === 'all')
  return { mechanisms, redirect: hasAll ? undefined : modifiers.get('redirect') }
}

const QUALIFIERS: readonly SpfQualifier[] = ['+', '-', '~', '?']

function parseMechanism(term: string): Mechanism | null {
  const qualifier = QUALIFIERS.find((sign) => term.startsWith(sign))
  const bare = qualifier === undefined ? term : term.slice(1)
  const [, name = '', rest = ''] = /^([a-z0-9]+)(.*)$/i.exec(bare) ?? []
  const parsed = parseNamed(name.toLowerCase(), rest)
  return parsed === null ? null : { qualifier: qualifier ?? '+', ...parsed }
}

/** A mechanism before it is given its qualifier. */
type Unqualified = Mechanism extends infer M
  ? M extends Mechanism
    ? Omit<M, 'qualifier'>
    : never
  : never

function parseNamed(name: string, rest: string): Unqualified | null {
  const value = rest.startsWith(':') ? rest.slice(1) : undefined
  switch (name) {
    case 'all':
      return rest === '' ? { kind: 'all' } : null
    case 'include':
    case 'exists':
      return value !== undefined && isTarget(value) ? { kind: name, target: value } : null
    case 'ptr':
      if (rest === '') return { kind: 'ptr', target: undefined }
      return value !== undefined && isTarget(value) ? { kind: 'ptr', target: value } : null
    case 'ip4':
    case 'ip6': {
      const block = value === undefined ? null : parseBlock(value)
      if (block?.version !== (name === 'ip4' ? 4 : 6)) return null
      return { kind: 'ip', block }
    }
    case 'a':
    case 'mx':
      return parseAddresses(name, rest)
    default:
      return null
  }
}

/** `a`, `a:name`, `a/24`, `a:name/24//64`. */
function parseAddresses(kind: 'a' | 'mx', rest: string): Unqualified | null {
  const match = /^(?::(.*?))?(?:\/(0|[1-9]\d?))?(?:\/\/(0|[1-9]\d{0,2}))?$/.exec(rest)
  if (match === null) return null
  const [, target, bits4 = '32', bits6 = '128'] = match
  const prefix4 = Number(bits4)
  const prefix6 = Number(bits6)
  if (prefix4 > 32 || prefix6 > 128 || (target !== undefined && !isTarget(target))) return null
  return { kind, target, prefix4, prefix6 }
}

/** A name that ends in a label or in a macro (RFC 7208 section 7.1, `domain-spec`). */
function isTarget(text: string): boolean {
  return isMacroString(text) && /(?:\.[a-z0-9-]*[a-z][a-z0-9-]*\.?|%\{[^}]*\})$/i.test(text)
}
