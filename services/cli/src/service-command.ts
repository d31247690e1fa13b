import type { Client } from '@plumbline/client/client'
import type { Command } from 'commander'
import { jsonOption, keyOption, wholeNumber } from './arguments.ts'
import { openServiceClient } from './service.ts'
import { writeJson, type Shell } from './shell.ts'
import { facts, table } from './table.ts'

/** Options of a command that calls the API. */
export interface ServiceOptions {
  readonly key?: string
  readonly json: boolean
}

/** Adds a command that calls the API, with `--key` and `--json`. */
export function serviceCommand(parent: Command, name: string, description: string): Command {
  return parent
    .command(name)
    .description(description)
    .addOption(keyOption())
    .addOption(jsonOption())
}

/** A call of the API; `signal` aborts when the command is to stop. */
export type Ask<T> = (client: Client, call: { readonly signal: AbortSignal }) => Promise<T>

/**
 * Calls the API and writes the response: as JSON, or formatted by `textOf` (default: field by
 * field).
 */
export async function showResponse<T extends object>(
  shell: Shell,
  { key, json }: ServiceOptions,
  ask: Ask<T>,
  textOf: (answer: T) => string = (answer) => facts(answer, shell),
): Promise<void> {
  const answer = await askService(shell, key, ask)
  if (json) writeJson(shell, answer)
  else shell.write(textOf(answer))
}

/** One page of a listing. */
interface ListingPage<T> {
  readonly data: readonly T[]
  readonly next_cursor: string | null
}

/** Adds the options of a command that shows a page of a listing: `--limit` and `--cursor`. */
export function addPageOptions(
  command: Command,
  { max, default: usual }: { readonly max: number; readonly default: number },
): Command {
  return command
    .option('--limit <count>', 'at most so many', wholeNumber({ min: 1, max }), usual)
    .option('--cursor <cursor>', 'the next page, as the page before named it')
}

/**
 * Writes one page of a listing: as JSON, or as a table with a line for each entry and a note how to
 * see more.
 */
export async function showPage<T>(
  shell: Shell,
  { key, json }: ServiceOptions,
  ask: Ask<ListingPage<T>>,
  columns: Readonly<Record<string, (line: T) => string>>,
): Promise<void> {
  const page = await askService(shell, key, ask)
  if (json) return writeJson(shell, page)
  const cells = Object.values(columns)
  const rows = page.data.map((line) => cells.map((cell) => cell(line)))
  shell.write(table(Object.keys(columns), rows, shell))
  if (page.next_cursor !== null) shell.tell(`More: --cursor ${page.next_cursor}\n`)
}

/** Calls the API with a key. */
export async function askService<T>(
  shell: Shell,
  key: string | undefined,
  ask: Ask<T>,
): Promise<T> {
  const client = await openServiceClient(shell.environment, key)
  return await ask(client, { signal: shell.stop })
}
