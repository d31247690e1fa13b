import type { Command } from 'commander'
import { columnMapping, delimiterOption, headerAnswer } from './arguments.ts'

/** Values of the options that say how the file of a batch is read, by commander's names. */
export interface ReadingOptions {
  readonly mapping?: Readonly<Record<string, string | number>>
  readonly header?: boolean | number
  readonly sheet?: string
  readonly entry?: string
  readonly encoding?: string
  readonly delimiter?: string
  readonly known?: string
  readonly knownAt?: string
  readonly defaultCountry?: string
}

/** Adds the options that say how the file of a batch is read to a command. */
export function addReadingOptions(command: Command): Command {
  return command
    .option('--mapping <json>', 'field to column, such as {"email": "Work Email"}', columnMapping)
    .option(
      '--header <answer>',
      'true, false, or the number of the line that is the header',
      headerAnswer,
    )
    .option('--sheet <name>', 'sheet of a workbook, by its name or its number from 1')
    .option('--entry <name>', 'file to read of a zip that holds several')
    .option('--encoding <name>', 'encoding of a text file, such as windows-1250')
    .addOption(delimiterOption('what separates the cells of a text file'))
    .option('--known <days>', 'accept verdicts of another service that are no older, such as 30d')
    .option('--known-at <day>', 'day of those verdicts where the file has none')
    .option('--default-country <code>', 'ISO 3166-1 alpha-2, for national phone numbers')
}
