import { createInterface } from 'node:readline'
import { once } from 'node:events'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { processEnvironment, type Environment } from '@plumbline/runtime/settings'
import type { CorpusCase, Prediction } from './prediction.ts'
import { PREDICTORS, type Predictor } from './predictors.ts'
import { predictorSettings } from './settings.ts'

/**
 * Reads cases from standard input, one a line, and writes a prediction for each, in order.
 *
 * @returns the exit status
 */
export async function main(argv: readonly string[], env: Environment): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...argv],
    options: { root: { type: 'string', default: '.' } },
    allowPositionals: true,
  })
  const [name = ''] = positionals
  const create = Object.hasOwn(PREDICTORS, name) ? PREDICTORS[name] : undefined
  if (create === undefined) {
    const given = name === '' ? 'none was given' : `got ${JSON.stringify(name)}`
    console.error(
      `Expected a corpus, and its cases as NDJSON on standard input; ${given}.\n` +
        `There are ${Object.keys(PREDICTORS).join(', ')}.`,
    )
    return 2
  }
  const predictor = await create(predictorSettings(env, values.root))
  const lines = createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY })
  for await (const line of lines) {
    if (line.trim() === '') continue
    const text = `${JSON.stringify(await predictLine(predictor, line))}\n`
    if (!process.stdout.write(text)) await once(process.stdout, 'drain')
  }
  return 0
}

/** The prediction for one line; for an invalid line its error, so that each line has a prediction. */
export async function predictLine(predictor: Predictor, line: string): Promise<Prediction> {
  try {
    const about = JSON.parse(line) as CorpusCase | null
    if (typeof about !== 'object' || about === null) return { error: 'the line is not an object' }
    return await predictor(about['input'], about)
  } catch (error) {
    return { error: error instanceof Error ? error.message : 'failed' }
  }
}

if (import.meta.main) {
  try {
    process.exitCode = await main(process.argv.slice(2), processEnvironment())
  } catch (error) {
    const known = error instanceof TypeError
    console.error(known ? error.message : error)
    process.exitCode = 2
  }
}
