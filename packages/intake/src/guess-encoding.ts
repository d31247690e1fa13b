import { setImmediate } from 'node:timers/promises'
import type { Encoding } from '@plumbline/contract/encodings'
import iconv from 'iconv-lite'
import { languageModels, type LanguageModel, type LanguageModels } from './language-model.ts'
import { LEGACY_ENCODINGS, type LegacyEncoding } from './legacy-encodings.ts'

/** The most likely encoding of some bytes. */
export interface EncodingGuess {
  readonly encoding: Encoding
  /** 0.5 to 0.99, two decimals: the lead over the next encoding that gives another text. */
  readonly confidence: number
}

/**
 * Cells by which most encodings are excluded, and how many encodings are then compared on all
 * cells.
 */
const FIRST_CELLS = 24
const FINALISTS = 8

/**
 * Guesses the legacy encoding of cells with bytes above 127: the encoding in which the cells look
 * most like words of a language that uses it. Between equally likely ones the more common wins.
 */
export async function guessEncoding(cells: readonly Buffer[]): Promise<EncodingGuess> {
  const models = await languageModels()
  const first = await ranked(cells.slice(0, FIRST_CELLS), LEGACY_ENCODINGS, models)
  const finalists = first.slice(0, FINALISTS).map(({ candidate }) => candidate)
  const last = cells.length <= FIRST_CELLS ? first : await ranked(cells, finalists, models)
  const [best] = last
  if (best === undefined) return { encoding: 'windows-1252', confidence: 0.5 }
  const rival = last.find(({ text }) => text !== best.text)
  const ahead = rival === undefined ? Number.POSITIVE_INFINITY : best.score - rival.score
  const confidence = Math.round(100 / (1 + Math.exp(-ahead / 4))) / 100
  return { encoding: best.candidate.name, confidence: Math.min(0.99, confidence) }
}

interface Ranked {
  readonly candidate: LegacyEncoding
  readonly text: string
  readonly score: number
}

async function ranked(
  cells: readonly Buffer[],
  candidates: readonly LegacyEncoding[],
  models: LanguageModels,
): Promise<Ranked[]> {
  const all: Ranked[] = []
  for (const candidate of candidates) {
    const texts = cells.map((cell) => iconv.decode(cell, candidate.name).normalize('NFC'))
    const score = candidate.rarity + mixtureOf(texts, models[candidate.family])
    all.push({ candidate, text: texts.join('\n'), score })
    // A worker renews leases in between.
    await setImmediate()
  }
  return all.toSorted((a, b) => b.score - a.score)
}

/** Iterations that estimate the shares of languages in a file, and the initial share of each. */
const ROUNDS = 3
const AT_FIRST = 0.1

/** Log likelihood of the cells as a mixture of languages, with the shares that fit best. */
function mixtureOf(texts: readonly string[], models: readonly LanguageModel[]): number {
  const each = texts.map((text) => models.map((model) => model.likelihood(text)))
  let shares = models.map(() => 1 / models.length)
  let sum = 0
  for (let round = 0; round < ROUNDS; round++) {
    const next = models.map(() => AT_FIRST)
    sum = 0
    for (const likelihoods of each) {
      const weighted = likelihoods.map((value, at) => value + Math.log(shares[at] ?? 1))
      const most = Math.max(...weighted)
      const parts = weighted.map((value) => Math.exp(value - most))
      const all = parts.reduce((a, b) => a + b, 0)
      sum += most + Math.log(all)
      for (const [at, part] of parts.entries()) next[at] = (next[at] ?? 0) + part / all
    }
    const total = next.reduce((a, b) => a + b, 0)
    shares = next.map((share) => share / total)
  }
  return sum
}
