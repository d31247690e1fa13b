import type { ResultsOptions } from '@plumbline/client/batch-results'
import { DELIMITER_NAMES } from '@plumbline/contract/delimiters'
import { RESULT_FORMATS, type ResultFormat } from '@plumbline/contract/results-request'
import { InvalidArgumentError, Option, type Command } from 'commander'
import { delimiterOption, resultFilters } from './arguments.ts'
import { given } from './given.ts'

/** Selection and format of the results to write. */
export interface ResultsChoice {
  readonly format?: ResultFormat
  readonly only?: readonly string[]
  readonly columns?: readonly string[]
  readonly raw: boolean
  readonly bom: boolean
  readonly sep: boolean
  readonly delimiter?: string
  readonly encoding?: string
}

/** `--format` of a result file. */
export function formatOption(): Option {
  const what = 'form of the results (default: by the name of --out)'
  return new Option('--format <format>', what).choices(RESULT_FORMATS)
}

/** Adds the options of a result file to a command. */
export function addResultsOptions(command: Command): Command {
  return command
    .addOption(formatOption())
    .option(
      '--only <words>',
      'verdicts, row statuses, advices or reasons, such as send,mailbox_full',
      resultFilters,
    )
    .option(
      '--columns <names>',
      'columns in their order, such as input,result.advice; with a comma in quotes',
      columnNames,
    )
    .option('--raw', 'cells as they came, also those that a spreadsheet would run', false)
    .option('--bom', 'CSV with a byte order mark, by which Excel knows UTF-8', false)
    .option('--sep', 'CSV with a first line that names the delimiter to Excel', false)
    .addOption(delimiterOption('of CSV'))
    .option('--encoding <name>', 'of CSV, such as windows-1252 for old tools')
}

/** The options in the form that the client accepts. */
export function resultsAsked(choice: ResultsChoice, format: ResultFormat): ResultsOptions {
  const { only, columns, raw, bom, sep, encoding } = choice
  const delimiter = DELIMITER_NAMES.get(choice.delimiter ?? '')
  return given({ format, raw, bom, sep, only, columns, delimiter, encoding })
}

/** Parses names of columns separated by commas; one with a comma is quoted. */
export function columnNames(text: string): readonly string[] {
  const names: string[] = []
  const name = /(?:"((?:[^"]|"")+)"|([^",]+))(,(?!$)|$)/y
  while (name.lastIndex < text.length) {
    const found = name.exec(text)
    if (found === null) break
    names.push(found[1]?.replaceAll('""', '"') ?? found[2] ?? '')
    if (found[3] === '') return names
  }
  throw new InvalidArgumentError('Expected names separated by commas, such as input,result.advice.')
}
