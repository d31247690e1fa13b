import type { BatchKnown } from '@plumbline/contract/known-verdicts'
import type { Command } from 'commander'
import { serviceCommand, showResponse, type ServiceOptions } from '../service-command.ts'
import type { Shell } from '../shell.ts'
import { facts, table } from '../table.ts'

/** `batch known`: compares accepted verdicts of another service with our own outcomes. */
export function addBatchKnown(parent: Command, shell: Shell): void {
  serviceCommand(
    parent,
    'known',
    'show where the verdicts of another service that a batch goes by differ from what was found',
  )
    .argument('<id>', 'batch')
    .action((id: string, options: ServiceOptions) =>
      showResponse(
        shell,
        options,
        (client, call) => client.batches.known(id, call),
        (known) => knownText(known, shell),
      ),
    )
}

function knownText({ asked, ...rest }: BatchKnown, screen: Pick<Shell, 'hasColors'>): string {
  const differing = asked.filter(({ agrees }) => agrees === false)
  return [
    facts(rest, screen),
    differing.length === 0
      ? 'No row that was asked differs.\n'
      : table(
          ['row', 'they say', 'on', 'found here', 'reason'],
          differing.map(({ row, said, found }) => [
            String(row),
            said.word,
            said.at,
            found?.verdict ?? '',
            found?.reason ?? '',
          ]),
          screen,
        ),
  ].join('\n')
}
