import { storeWeights } from '@plumbline/db/score-weights'
import { tryWeights, type WeightsTrial } from '@plumbline/pipeline/try-weights'
import { createScorer } from '@plumbline/scoring/score'
import { loadWeights } from '@plumbline/scoring/weights'
import type { Command } from 'commander'
import { jsonOption } from '../arguments.ts'
import { openServiceDatabase } from '../service.ts'
import { writeJson, type Shell } from '../shell.ts'
import { table } from '../table.ts'

interface Options {
  readonly weights: string
  readonly keep: boolean
  readonly json: boolean
}

/** `score`: shows how other weights would change the scores of a batch, before they are used. */
export function addScore(parent: Command, shell: Shell): void {
  parent
    .command('score')
    .description(
      'count what own weights would change in a batch that has ended; nothing is queried',
    )
    .argument('<id>', 'batch')
    .requiredOption('--weights <file>', 'rows that differ from the packaged weights, as JSON')
    .option('--keep', 'keep them, so that `batch rescore` can name their version', false)
    .addOption(jsonOption())
    .action((id: string, options: Options) => run(shell, id, options))
}

async function run(shell: Shell, id: string, { weights, keep, json }: Options): Promise<void> {
  const own = await loadWeights(weights)
  await using db = await openServiceDatabase(shell.environment)
  const trial = await tryWeights(db, id, own, createScorer)
  if (keep) await storeWeights(db, own)
  if (json) writeJson(shell, { ...trial, kept: keep })
  else shell.write(textOf(trial, shell))
  const next = keep
    ? `batch rescore ${id} --weights ${own.version}`
    : `score ${id} --weights ${weights} --keep`
  shell.tell(`${keep ? 'Kept' : 'Nothing is changed by this'}; next: ${next}\n`)
}

const LEVELS = ['low', 'medium', 'high'] as const

function textOf({ before, after, scores }: WeightsTrial, shell: Shell): string {
  const rows = scores.flatMap((trial) =>
    LEVELS.map((level) => [
      trial.score,
      level,
      String(trial.before[level]),
      String(trial.after[level]),
    ]),
  )
  const changes = scores.map(
    ({ score, records, changed, moved }) =>
      `${score}: ${changed} of ${records} records have another, ${moved} another level.\n`,
  )
  return (
    `${before} to ${after}\n` +
    table(['score', 'level', 'before', 'after'], rows, shell) +
    changes.join('')
  )
}
