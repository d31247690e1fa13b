import type { Readable } from 'node:stream'
import { styleText } from 'node:util'
import type { Environment } from '@plumbline/runtime/settings'

/** What a command reads of and writes to the terminal it runs in. */
export interface Shell {
  readonly environment: Environment
  /** Standard input, for the command that reads it. */
  readonly input?: Readable
  /** Writes to standard output: the result, and with `--json` nothing but JSON. */
  write(text: string): void
  /** Writes to standard error: progress and remarks. */
  tell(text: string): void
  /** Whether standard error is a terminal, where a line can be drawn again. */
  readonly redraws: boolean
  /** Whether standard output is a terminal with colours, and the user wants them (`NO_COLOR`). */
  readonly hasColors: boolean
  /** Asks a question that is answered by yes or no; absent where nobody sits at a terminal. */
  readonly ask?: (question: string) => Promise<boolean>
  /** Aborted by ctrl-C or SIGTERM. */
  readonly stop: AbortSignal
  /** Sets exit status 1 for a command that did its work and has bad news, such as `doctor`. */
  fail(): void
}

/** Writes a value as one line of JSON. */
export function writeJson(shell: Shell, value: unknown): void {
  shell.write(`${JSON.stringify(value)}\n`)
}

/** Colours and weights of text that commands use. */
export type Style = Parameters<typeof styleText>[0]

/** Text in a style where the terminal has colours, else as it is. */
export function styled(
  { hasColors }: Pick<Shell, 'hasColors'>,
  style: Style,
  text: string,
): string {
  return hasColors ? styleText(style, text, { validateStream: false }) : text
}
