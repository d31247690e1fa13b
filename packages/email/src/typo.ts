import { parse as parseSuffix } from 'tldts'
import { parseMailbox } from './syntax.ts'

/** A mailbox provider whose name is often mistyped. */
interface Target {
  readonly name: string
  readonly suffix: string
}

/** Large consumer providers and access providers, those with most users first. */
const TARGETS: readonly Target[] = [
  'gmail.com',
  'yahoo.com',
  'hotmail.com',
  'outlook.com',
  'aol.com',
  'icloud.com',
  'live.com',
  'msn.com',
  'googlemail.com',
  'protonmail.com',
  'windowslive.com',
  'comcast.net',
  'verizon.net',
  'sbcglobal.net',
  'bellsouth.net',
  'earthlink.net',
  'charter.net',
  'mailgun.net',
  'facebook.com',
  'yahoo.co.uk',
  'hotmail.co.uk',
  'yahoo.co.jp',
  'btinternet.com',
  'web.de',
  'gmx.de',
  'gmx.net',
  't-online.de',
  'orange.fr',
  'wanadoo.fr',
  'laposte.net',
  'libero.it',
  'yandex.ru',
  'mail.ru',
].map(targetOf)

/**
 * Providers whose names are so short or common that only a non-existent suffix counts as a typo.
 */
const EXACT_TARGETS: readonly Target[] = [
  'ymail.com',
  'rocketmail.com',
  'me.com',
  'mac.com',
  'mail.com',
  'gmx.com',
  'fastmail.com',
  'zoho.com',
  'hushmail.com',
  'inbox.com',
  'lycos.com',
  'juno.com',
  'rediffmail.com',
  'naver.com',
  'att.net',
  'cox.net',
  'frontier.com',
  'optonline.net',
  'live.co.uk',
  'free.fr',
  'sfr.fr',
  'hotmail.fr',
  'hotmail.it',
  'hotmail.de',
  'hotmail.es',
  'yahoo.fr',
  'yahoo.de',
  'yahoo.it',
  'yahoo.es',
  'yahoo.com.br',
  'yahoo.co.in',
  'yahoo.com.au',
  'freenet.de',
  'tiscali.it',
  'virgilio.it',
  'uol.com.br',
  'rambler.ru',
  'seznam.cz',
].map(targetOf)

/** Real domains that look like typos; their country variants too. */
const REAL_NAMES: ReadonlySet<string> = new Set(
  (
    'mail email imail gmx gmu ymail zmail amail fmail hmail lmail omail rmail umail vmail wmail ' +
    'xmail uymail jmail nmail pmail qmail smail mymail inmail netmail webmail hushmail fastmail ' +
    'rocketmail postmail tutamail zohomail hotmail hotbmail googlemail usa me mac aim aol msn ' +
    'live love line like life lite alive olive glive cloud icloud ical outlook outlooks lookout ' +
    'yahoo yoo ya yandex grail goal gail snail trail email female small comcast cox charter ' +
    'chartered verizon earth earthlink orange wanadoo libero web rambler bluemail hotmale'
  ).split(' '),
)

/** Country suffixes that are far more likely a typo than intended. */
const SLIPPED_COUNTRY_SUFFIXES: ReadonlyMap<string, readonly string[]> = new Map([
  ['com', ['co', 'cm', 'om']],
  ['net', ['ne', 'et']],
])

/** Providers with a single domain: every other suffix is a typo. */
const SINGLE_NAMES: ReadonlySet<string> = new Set(['gmail'])

/** Generic suffixes taken for `com` by mistake if the name itself is exact. */
const OTHER_GENERIC: ReadonlySet<string> = new Set(['net', 'org', 'info', 'biz'])

/** Longest text worth comparing: the longest target plus three letters. */
const COMPARED_MAX_CHARS = 20

/**
 * The provider domain that the address probably meant, or null. Errors are weighted by how people
 * mistype (neighbouring keys, doubled, dropped and swapped letters); a domain known to be real is
 * kept.
 */
export function suggestDomain(address: string): string | null {
  const mailbox = parseMailbox(address)
  if (!mailbox.ok || mailbox.literal) return null
  return suggestFor(mailbox.domain)
}

/** The same for a domain in lower-case A-labels. */
export function suggestFor(domain: string): string | null {
  if (domain.length > COMPARED_MAX_CHARS || TARGET_DOMAINS.has(domain)) return null
  const typed = targetOf(domain.includes('.') ? domain : withDot(domain))
  let best: Target | null = null
  let bestCost = Number.POSITIVE_INFINITY
  for (const target of TARGETS) {
    const cost = slipCost(typed, target)
    if (cost < bestCost) {
      best = target
      bestCost = cost
    }
  }
  for (const target of EXACT_TARGETS) {
    if (typed.name !== target.name) continue
    if (typed.suffix !== target.suffix && isSuffix(typed.suffix)) continue
    const cost = slipCost(typed, target)
    if (cost < bestCost) {
      best = target
      bestCost = cost
    }
  }
  return best === null ? null : `${best.name}.${best.suffix}`
}

function slipCost(typed: Target, target: Target): number {
  const exact = typed.name === target.name
  if (!exact && REAL_NAMES.has(typed.name)) return Number.POSITIVE_INFINITY
  // Three letters more or fewer always cost more than the bound.
  if (Math.abs(typed.name.length - target.name.length) > 2) return Number.POSITIVE_INFINITY
  const suffix = suffixCost(typed.suffix, target.suffix, exact, SINGLE_NAMES.has(target.name))
  if (suffix === Number.POSITIVE_INFINITY) return suffix
  const bound = boundOf(target.name)
  const name = exact ? 0 : nameCost(typed.name, target.name)
  return name > bound || (name > 0 && name + suffix > bound + 0.3)
    ? Number.POSITIVE_INFINITY
    : name + suffix
}

/**
 * Largest edit cost that counts as a typo: near zero for three letters, two errors for long names.
 */
function boundOf(name: string): number {
  if (name.length <= 4) return 0.5
  if (name.length === 5) return 1.2
  return name.length <= 7 ? 1.3 : 1.6
}

function suffixCost(typed: string, target: string, exactName: boolean, single: boolean): number {
  if (typed === target) return 0
  if (typed === '') return Number.POSITIVE_INFINITY
  if (typed === `${target}.${target}`) return 0.3
  if (SLIPPED_COUNTRY_SUFFIXES.get(target)?.includes(typed) === true) return 0.3
  if (typed.length === 1) return target.includes(typed) ? 0.5 : Number.POSITIVE_INFINITY
  if (typed.length === 2 || typed.includes('.') || target.includes('.')) {
    if (exactName && single) return 0.5
    return !isSuffix(typed) && editCost(typed, target) <= 1.3 ? 0.3 : Number.POSITIVE_INFINITY
  }
  if (OTHER_GENERIC.has(typed)) return exactName && single ? 0.5 : Number.POSITIVE_INFINITY
  if (KNOWN_SUFFIXES.has(typed)) return Number.POSITIVE_INFINITY
  if (Math.abs(typed.length - target.length) > 1) return Number.POSITIVE_INFINITY
  return editCost(typed, target) <= 1.3 ? 0.3 : Number.POSITIVE_INFINITY
}

/** Whether it is a public suffix. */
function isSuffix(suffix: string): boolean {
  return parseSuffix(`a.${suffix}`).isIcann === true
}

/** Real top-level domains similar to those of the targets. */
const KNOWN_SUFFIXES: ReadonlySet<string> = new Set([
  'com',
  'net',
  'org',
  'edu',
  'gov',
  'de',
  'fr',
  'it',
  'ru',
])

function nameCost(typed: string, target: string): number {
  const anagram =
    typed.length === target.length && typed[0] === target[0] && sorted(typed) === sorted(target)
  const cost = editCost(typed, target)
  return anagram ? Math.min(cost, target.length <= 4 ? 0.5 : 1) : cost
}

/** Weighted Damerau-Levenshtein distance (optimal string alignment). */
function editCost(typed: string, target: string): number {
  const width = target.length + 1
  let beforeLast: number[] = []
  let last: number[] = []
  for (let column = 0; column < width; column++) {
    last.push(column === 0 ? 0 : (last[column - 1] ?? 0) + dropCost(target, column - 1))
  }
  for (let row = 1; row <= typed.length; row++) {
    const current: number[] = [(last[0] ?? 0) + addCost(typed, row - 1)]
    for (let column = 1; column < width; column++) {
      const same = typed[row - 1] === target[column - 1]
      let cost = (last[column - 1] ?? 0) + (same ? 0 : swapCost(typed[row - 1], target[column - 1]))
      cost = Math.min(cost, (last[column] ?? 0) + addCost(typed, row - 1))
      cost = Math.min(cost, (current[column - 1] ?? 0) + dropCost(target, column - 1))
      const swapped =
        row > 1 &&
        column > 1 &&
        typed[row - 1] === target[column - 2] &&
        typed[row - 2] === target[column - 1]
      if (swapped) cost = Math.min(cost, (beforeLast[column - 2] ?? 0) + 0.5)
      current.push(cost)
    }
    beforeLast = last
    last = current
  }
  return last[width - 1] ?? 0
}

/** Cost of a missing letter: lower for a vowel or one of a pair. */
function dropCost(target: string, at: number): number {
  const letter = target[at] ?? ''
  if (letter === target[at - 1] || letter === target[at + 1]) return 0.5
  return 'aeiou'.includes(letter) ? 0.6 : 1
}

/**
 * Cost of an extra letter: lower if it repeats, or is next on the keyboard to, the one beside it.
 */
function addCost(typed: string, at: number): number {
  const letter = typed[at] ?? ''
  const beside = [typed[at - 1], typed[at + 1]]
  return beside.some((other) => other !== undefined && (other === letter || near(letter, other)))
    ? 0.5
    : 1
}

function swapCost(typed: string | undefined, meant: string | undefined): number {
  if (typed === undefined || meant === undefined) return 1
  if (near(typed, meant) || looksAlike(typed, meant)) return 0.5
  return 'aeiou'.includes(typed) && 'aeiou'.includes(meant) ? 0.8 : 1.2
}

/** Rows of a QWERTY keyboard, each shifted half a key to the right of the one above. */
const KEY_ROWS = ['qwertyuiop', 'asdfghjkl', 'zxcvbnm']

/** Pairs of adjacent keys, in both orders. */
const NEAR_KEYS: ReadonlySet<string> = new Set(
  KEY_ROWS.flatMap((keys, row) =>
    [...keys].flatMap((a, columnA) =>
      KEY_ROWS.flatMap((others, otherRow) =>
        [...others].flatMap((b, columnB) => {
          const shift = columnA + row / 2 - (columnB + otherRow / 2)
          return Math.abs(row - otherRow) <= 1 && Math.abs(shift) <= 1 ? [a + b] : []
        }),
      ),
    ),
  ),
)

const LOOK_ALIKES: ReadonlySet<string> = new Set([
  '0o',
  'o0',
  '1l',
  'l1',
  '1i',
  'i1',
  '3e',
  'e3',
  '5s',
  's5',
])

function near(a: string, b: string): boolean {
  return NEAR_KEYS.has(a + b)
}

function looksAlike(a: string, b: string): boolean {
  return LOOK_ALIKES.has(a + b)
}

function sorted(text: string): string {
  return [...text].toSorted().join('')
}

function targetOf(domain: string): Target {
  const dot = domain.indexOf('.')
  return { name: domain.slice(0, dot), suffix: domain.slice(dot + 1) }
}

/** `yahoocom` with its dot restored; unchanged if it ends in no known suffix. */
function withDot(domain: string): string {
  const suffix = ['com', 'net', 'de', 'fr', 'ru', 'it'].find((end) => domain.endsWith(end))
  return suffix === undefined ? `${domain}.` : `${domain.slice(0, -suffix.length)}.${suffix}`
}

const TARGET_DOMAINS: ReadonlySet<string> = new Set(
  [...TARGETS, ...EXACT_TARGETS].map((target) => `${target.name}.${target.suffix}`),
)
