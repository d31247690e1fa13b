import type { Client } from '@plumbline/client/client'
import type { Command } from 'commander'
import { jsonOption, keyOption } from './arguments.ts'
import { openServiceClient } from './service.ts'
import { cliSettings } from './settings.ts'
import { writeJson, type Shell } from './shell.ts'
import { facts } from './table.ts'

/** What a command takes that asks the service as an account. */
export interface ServiceOptions {
  readonly key?: string
  readonly json: boolean
}

/** Adds a command that asks the service as an account, with `--key` and `--json`. */
export function serviceCommand(parent: Command, name: string, description: string): Command {
  return parent
    .command(name)
    .description(description)
    .addOption(keyOption())
    .addOption(jsonOption())
}

/** How a service is asked; `signal` aborts when the command is to stop. */
export type Ask<T> = (client: Client, call: { readonly signal: AbortSignal }) => Promise<T>

/** Asks the service and writes its answer: as JSON, or as `textOf` has it for a person (default: field by field). */
export async function showAnswer<T extends object>(
  shell: Shell,
  { key, json }: ServiceOptions,
  ask: Ask<T>,
  textOf: (answer: T) => string = (answer) => facts(answer, shell),
): Promise<void> {
  const client = await openServiceClient(cliSettings(shell.environment), key)
  const answer = await ask(client, { signal: shell.stop })
  if (json) writeJson(shell, answer)
  else shell.write(textOf(answer))
}
