import type { Readable } from 'node:stream'
import { styleText } from 'node:util'
import type { Environment } from '@plumbline/runtime/settings'

/** The terminal of a command. */
export interface Shell {
  readonly environment: Environment
  /** Standard input, for commands that read it. */
  readonly input?: Readable
  /** Writes to standard output: the result, and with `--json` nothing but JSON. */
  write(text: string): void
  /** Writes to standard error: progress and messages. */
  tell(text: string): void
  /** Whether standard error is a terminal, where a line can be redrawn. */
  readonly redraws: boolean
  /** Whether standard output is a terminal with colours, and the user wants them (`NO_COLOR`). */
  readonly hasColors: boolean
  /** Asks a yes-or-no question; absent without a terminal. */
  readonly ask?: (question: string) => Promise<boolean>
  /** Aborted by ctrl-C or SIGTERM. */
  readonly stop: AbortSignal
  /** Sets exit status 1 for a command that has worked and reports a problem, such as `doctor`. */
  fail(): void
}

/** Writes a value as one line of JSON. */
export function writeJson(shell: Shell, value: unknown): void {
  shell.write(`${JSON.stringify(value)}\n`)
}

/** Colours and weights of text that commands use. */
export type Style = Parameters<typeof styleText>[0]

/** Text in a style if the terminal has colours, else unchanged. */
export function styled(
  { hasColors }: Pick<Shell, 'hasColors'>,
  style: Style,
  text: string,
): string {
  return hasColors ? styleText(style, text, { validateStream: false }) : text
}
