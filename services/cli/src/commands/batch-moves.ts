import type { BatchView } from '@plumbline/contract/batch-view'
import type { Command } from 'commander'
import { serviceCommand, showResponse, type Ask, type ServiceOptions } from '../service-command.ts'
import type { Shell } from '../shell.ts'

interface Move {
  readonly name: string
  readonly description: string
  readonly ask: (id: string) => Ask<BatchView>
}

const MOVES: readonly Move[] = [
  {
    name: 'show',
    description: 'show a batch',
    ask: (id) => (client, call) => client.batches.get(id, call),
  },
  {
    name: 'start',
    description: 'start a batch that waits at ready',
    ask: (id) => (client, call) => client.batches.start(id, call),
  },
  {
    name: 'pause',
    description:
      'pause a running batch; its credits stay held, and it resumes by itself after 7 days',
    ask: (id) => (client, call) => client.batches.pause(id, call),
  },
  {
    name: 'resume',
    description: 'resume a paused batch',
    ask: (id) => (client, call) => client.batches.resume(id, call),
  },
  {
    name: 'cancel',
    description: 'cancel a batch; what is known by then is charged, the rest is released',
    ask: (id) => (client, call) => client.batches.cancel(id, call),
  },
]

/**
 * `batch show`, `start`, `pause`, `resume` and `cancel`: acts on one batch and shows its new state.
 */
export function addBatchMoves(parent: Command, shell: Shell): void {
  for (const { name, description, ask } of MOVES) {
    serviceCommand(parent, name, description)
      .argument('<id>', 'batch')
      .action((id: string, options: ServiceOptions) => showResponse(shell, options, ask(id)))
  }
}
