import { setTimeout as pause } from 'node:timers/promises'
import type { BatchSample } from '@plumbline/contract/batch-sample'
import type { Command } from 'commander'
import { serviceCommand, showResponse, type Ask, type ServiceOptions } from '../service-command.ts'
import type { Shell } from '../shell.ts'
import { facts, table } from '../table.ts'

const ASK_AGAIN_MS = 1_000

/** `batch sample`: checks a few rows of a batch and waits for the results. */
export function addBatchSample(parent: Command, shell: Shell): void {
  serviceCommand(
    parent,
    'sample',
    'check up to 50 rows drawn from a batch; its start does not charge them again',
  )
    .argument('<id>', 'batch')
    .action((id: string, options: ServiceOptions) =>
      showResponse(shell, options, endOfSample(id), (sample) => sampleText(sample, shell)),
    )
}

/** Draws a sample and waits for its end. */
function endOfSample(id: string): Ask<BatchSample> {
  return async (client, call) => {
    let sample = await client.batches.sample(id, call)
    while (sample.status === 'running') {
      await pause(ASK_AGAIN_MS, undefined, call)
      sample = await client.batches.readSample(id, call)
    }
    return sample
  }
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
