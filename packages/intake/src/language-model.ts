import { setImmediate } from 'node:timers/promises'
import iconv from 'iconv-lite'
import { LANGUAGES, type Language, type LanguageFamily } from './encoding-languages.ts'
import { BOUNDARY, foldedCode, likelihoodOf, type PairLikelihood } from './text-likelihood.ts'

/** A statistical model of a language's texts. */
export interface LanguageModel {
  /** Natural logarithm of the likelihood of the text of one cell. */
  likelihood(text: string): number
}

/** Models of all languages, by family. */
export type LanguageModels = Readonly<Record<LanguageFamily, readonly LanguageModel[]>>

/** Weight of a language's seed words: they are few, and typical of contact files. */
const SEED_WEIGHT = 3

/**
 * Names of countries, languages and currencies show how a language is written. Source: Unicode
 * CLDR, from Node.
 */
function namesIn({ tag, seeds }: Language): string[] {
  const names: string[] = Array.from({ length: SEED_WEIGHT }, () => seeds)
  const alphabet = [...'abcdefghijklmnopqrstuvwxyz']
  const pairs = alphabet.flatMap((a) => alphabet.map((b) => a + b))
  const collect = (type: Intl.DisplayNamesType, codes: readonly string[]): void => {
    const display = new Intl.DisplayNames(tag, { type, fallback: 'none' })
    for (const code of codes) {
      const name = display.of(code)
      if (name !== undefined) names.push(name)
    }
  }
  collect(
    'region',
    pairs.map((pair) => pair.toUpperCase()),
  )
  collect('language', pairs)
  collect('currency', Intl.supportedValuesOf('currency'))
  return names
}

/** Counts of characters and character pairs of a language. */
interface Counts {
  readonly singles: Map<number, number>
  readonly pairs: Map<number, number>
  readonly before: Map<number, number>
  total: number
}

function noCounts(): Counts {
  return { singles: new Map(), pairs: new Map(), before: new Map(), total: 0 }
}

function countName(counts: Counts, name: string): void {
  let previous = BOUNDARY
  for (const char of `${name.normalize('NFC')} `) {
    const code = foldedCode(char)
    if (code === BOUNDARY && previous === BOUNDARY) continue
    add(counts.singles, code)
    add(counts.pairs, pairOf(previous, code))
    add(counts.before, previous)
    counts.total += 1
    previous = code
  }
}

/** Weight of single characters against character pairs. */
const SMOOTHING = 6

/**
 * Log probabilities of characters that a language does not use. A letter of its own is between -2
 * and -8.
 */
const FOREIGN_LETTER = -11
const COMMON_IDEOGRAPH = -9.5
const RARE_IDEOGRAPH = -13

function pairLikelihood(counts: Counts, unseen: (code: number) => number): PairLikelihood {
  const { singles, pairs, before, total } = counts
  return (previous, code) => {
    const count = singles.get(code)
    const single = count === undefined ? Math.exp(unseen(code)) : count / total
    const seen = pairs.get(pairOf(previous, code)) ?? 0
    return Math.log((seen + SMOOTHING * single) / ((before.get(previous) ?? 0) + SMOOTHING))
  }
}

function createModel(
  { tag, writing }: Language,
  counts: Counts,
  latin: PairLikelihood,
): LanguageModel {
  switch (writing) {
    case 'latin': {
      const pair = pairLikelihood(counts, () => FOREIGN_LETTER)
      return { likelihood: (text) => likelihoodOf(text, { pair, latin, mixesScripts: false }) }
    }
    case 'letters': {
      const pair = pairLikelihood(counts, () => FOREIGN_LETTER)
      return { likelihood: (text) => likelihoodOf(text, { pair, mixesScripts: false }) }
    }
    case 'wide': {
      const isCommon = commonIdeographs(tag)
      const pair = pairLikelihood(counts, (code) =>
        isCommon(code) ? COMMON_IDEOGRAPH : RARE_IDEOGRAPH,
      )
      return { likelihood: (text) => likelihoodOf(text, { pair, mixesScripts: true }) }
    }
  }
}

function pairOf(previous: number, code: number): number {
  return previous * 0x110000 + code
}

function add(counts: Map<number, number>, key: number): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}

/** Rows of the national standards in common use: the encoding, its first and last lead byte. */
const COMMON_ROWS: Readonly<Record<string, readonly [string, number, number]>> = {
  'zh-Hans': ['gb18030', 0xb0, 0xd7],
  'zh-Hant': ['big5', 0xa4, 0xc6],
  ja: ['euc-jp', 0xb0, 0xcf],
  ko: ['euc-kr', 0xb0, 0xc8],
}

function commonIdeographs(tag: string): (code: number) => boolean {
  const rows = COMMON_ROWS[tag]
  const common = new Set<number>()
  if (rows === undefined) return () => false
  const [encoding, first, last] = rows
  for (let lead = first; lead <= last; lead++) {
    for (let trail = encoding === 'big5' ? 0x40 : 0xa1; trail < 0xff; trail++) {
      common.add(iconv.decode(Buffer.from([lead, trail]), encoding).codePointAt(0) ?? 0)
    }
  }
  return (code) => common.has(code)
}

let loading: Promise<LanguageModels> | undefined

/** The models; built once per process, in some 300 ms of steps that yield to other work. */
export async function languageModels(): Promise<LanguageModels> {
  loading ??= loadModels()
  return await loading
}

async function loadModels(): Promise<LanguageModels> {
  const languages = new Set<Language>(Object.values(LANGUAGES).flat())
  const counted = new Map<Language, Counts>()
  const pooled = noCounts()
  for (const language of languages) {
    const counts = noCounts()
    for (const name of namesIn(language)) {
      countName(counts, name)
      if (language.writing === 'latin') countName(pooled, name)
    }
    counted.set(language, counts)
    await setImmediate()
  }
  const latin = pairLikelihood(pooled, () => FOREIGN_LETTER)
  const families = Object.entries(LANGUAGES).map(([family, members]): [string, LanguageModel[]] => [
    family,
    members.map((language) => createModel(language, counted.get(language) ?? noCounts(), latin)),
  ])
  return byFamily(families)
}

/** Safe because the entries are made from those of `LANGUAGES`. */
function byFamily(entries: readonly [string, LanguageModel[]][]): LanguageModels {
  return Object.fromEntries(entries) as Record<LanguageFamily, LanguageModel[]>
}
