import { setTimeout as pause } from 'node:timers/promises'
import type { BatchSample } from '@plumbline/contract/batch-sample'
import type { Command } from 'commander'
import { jsonOption, keyOption } from '../arguments.ts'
import { openServiceClient } from '../service.ts'
import { cliSettings } from '../settings.ts'
import { writeJson, type Shell } from '../shell.ts'
import { facts, table } from '../table.ts'

interface Options {
  readonly key?: string
  readonly json: boolean
}

const ASK_AGAIN_MS = 1_000

/** `batch sample`: checks a few rows of a batch and waits for what comes of them. */
export function addBatchSample(parent: Command, shell: Shell): void {
  parent
    .command('sample')
    .description('check up to 50 rows drawn from a batch; its start does not charge them again')
    .argument('<id>', 'batch')
    .addOption(keyOption())
    .addOption(jsonOption())
    .action((id: string, options: Options) => run(shell, id, options))
}

async function run(shell: Shell, id: string, { key, json }: Options): Promise<void> {
  const client = await openServiceClient(cliSettings(shell.environment), key)
  let sample = await client.batches.sample(id, { signal: shell.stop })
  while (sample.status === 'running') {
    await pause(ASK_AGAIN_MS, undefined, { signal: shell.stop })
    sample = await client.batches.readSample(id, { signal: shell.stop })
  }
  if (json) writeJson(shell, sample)
  else shell.write(sampleText(sample, shell))
}

function sampleText({ shares, ...rest }: BatchSample, screen: Pick<Shell, 'hasColors'>): string {
  const percent = (share: number): string => `${(share * 100).toFixed(1)} %`
  return [
    facts(rest, screen),
    table(
      ['verdict', 'rows', 'share', 'of the whole, 95 %'],
      shares.map(({ verdict, count, share, low, high }) => [
        verdict,
        String(count),
        percent(share),
        `${percent(low)} to ${percent(high)}`,
      ]),
      screen,
    ),
  ].join('\n')
}
