import { createReadStream, existsSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { processEnvironment, type Environment } from '@plumbline/runtime/settings'
import { loadWeights } from '@plumbline/scoring/weights'
import { IntakeError } from '@plumbline/intake/intake-error'
import { CORPORA, tierOf, type Corpus } from './judge.ts'
import { predictLine } from './predict.ts'
import type { CorpusCase } from './prediction.ts'
import { PREDICTORS, type PredictorSettings } from './predictors.ts'
import { scoreSignals } from './score-signals.ts'
import { predictorSettings } from './settings.ts'

/** Numbers of cases, scored and right ones, of one key of a corpus in one tier. */
interface Tally {
  readonly corpus: string
  readonly key: string
  readonly tier: string
  cases: number
  scored: number
  right: number
}

/**
 * Scores predictions for the corpora of a folder, or the fraud weights on a labelled file, and prints a
 * table. Returns the exit status.
 */
export async function main(argv: readonly string[], env: Environment): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...argv],
    options: {
      /** A corpus, or a corpus and key (`whois.registrar`), whose wrong cases are printed. */
      wrong: { type: 'string' },
      json: { type: 'boolean', default: false },
      /** A weights file of an operator, which overrides packaged weights. */
      weights: { type: 'string' },
    },
    allowPositionals: true,
  })
  const [path] = positionals
  if (path === undefined || !existsSync(path)) {
    const given = path === undefined ? 'nothing was given' : `there is no ${path}`
    console.error(`Expected a folder of corpora, or a CSV file of labelled signals; ${given}.`)
    return 2
  }
  if ((await stat(path)).isFile()) {
    console.log(await scoreSignals(path, await loadWeights(values.weights)))
    return 0
  }
  const settings = await withTestDatabases(predictorSettings(env, path))
  const tallies: Tally[] = []
  for (const corpus of CORPORA) {
    const file = join(path, `${corpus.file}.ndjson`)
    if (existsSync(file)) tallies.push(...(await scoreCorpus(corpus, file, settings, values.wrong)))
  }
  if (tallies.length === 0) {
    console.error(`There is no corpus in ${path}; expected files such as email-syntax.ndjson.`)
    return 2
  }
  console.log(values.json ? JSON.stringify(tallies, null, 2) : table(tallies))
  return 0
}

/** Adds the databases for which the IP corpora were made, if they are in the folder `mmdb`. */
async function withTestDatabases(settings: PredictorSettings): Promise<PredictorSettings> {
  const folder = join(settings.root, 'mmdb')
  if (!existsSync(folder)) return settings
  const files = await readdir(folder)
  const named = (word: string): string | undefined => {
    const file = files.find((name) => name.includes(word) && name.endsWith('.mmdb'))
    return file === undefined ? undefined : join(folder, file)
  }
  return {
    ...settings,
    cityDb: settings.cityDb ?? named('City'),
    asnDb: settings.asnDb ?? named('ASN'),
  }
}

async function scoreCorpus(
  corpus: Corpus,
  file: string,
  settings: PredictorSettings,
  showWrong: string | undefined,
): Promise<readonly Tally[]> {
  const root = join(settings.root, corpus.folder ?? '.')
  const predictor = await PREDICTORS[corpus.predictor]?.({ ...settings, root })
  if (predictor === undefined) throw new Error(`no predictor ${corpus.predictor}`)
  const tallies = new Map<string, Tally>()
  const lines = createInterface({
    input: createReadStream(file),
    crlfDelay: Number.POSITIVE_INFINITY,
  })
  for await (const line of lines) {
    if (line.trim() === '') continue
    const about = JSON.parse(line) as CorpusCase
    const expected = { ...(about['expected'] as CorpusCase) }
    const prediction = await predictLine(predictor, line)
    const tier = tierOf(about)
    for (const [key, judge] of Object.entries(corpus.keys)) {
      const tally = tallyOf(tallies, corpus.file, key, tier)
      const right = judge(expected, prediction)
      tally.cases += 1
      if (right === undefined) continue
      tally.scored += 1
      if (right) tally.right += 1
      else if (showWrong === corpus.file || showWrong === `${corpus.file}.${key}`) {
        const shown = JSON.stringify({ key, tier, input: about['input'], expected, prediction })
        console.error(shown.length > 2000 ? `${shown.slice(0, 2000)}...` : shown)
      }
    }
  }
  return [...tallies.values()].filter(({ scored }) => scored > 0)
}

function tallyOf(tallies: Map<string, Tally>, corpus: string, key: string, tier: string): Tally {
  const name = `${key} ${tier}`
  const held = tallies.get(name) ?? { corpus, key, tier, cases: 0, scored: 0, right: 0 }
  tallies.set(name, held)
  return held
}

function table(tallies: readonly Tally[]): string {
  const rows = tallies.map(({ corpus, key, tier, cases, scored, right }) => [
    corpus,
    tier === 'core' ? key : `${key} (${tier})`,
    String(cases),
    String(scored),
    String(right),
    `${((100 * right) / scored).toFixed(1)} %`,
  ])
  const all = [['corpus', 'key', 'cases', 'scored', 'right', 'percent'], ...rows]
  const widths = [0, 1, 2, 3, 4, 5].map((column) =>
    Math.max(...all.map((row) => row[column]?.length ?? 0)),
  )
  return all
    .map((row) =>
      row
        .map((cell, column) =>
          column < 2 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

if (import.meta.main) {
  try {
    process.exitCode = await main(process.argv.slice(2), processEnvironment())
  } catch (error) {
    console.error(
      error instanceof TypeError || error instanceof IntakeError ? error.message : error,
    )
    process.exitCode = 2
  }
}
