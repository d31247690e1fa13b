import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import type { Command } from 'commander'
import { Option } from 'commander'
import type { BatchPath } from '@plumbline/client/batches'
import type { Client } from '@plumbline/client/client'
import { RETENTION_DAYS } from '@plumbline/contract/batch-request'
import type { BatchView } from '@plumbline/contract/batch-view'
import { DELIMITER_NAMES } from '@plumbline/contract/delimiters'
import { PRODUCTS, type Product } from '@plumbline/contract/products'
import type { ResultFormat } from '@plumbline/contract/results-request'
import { CREDITS_MAX } from '@plumbline/contract/plans'
import { jsonOption, keyOption, wholeNumber } from '../arguments.ts'
import { confirmStart } from '../confirm.ts'
import { followBatch } from '../follow.ts'
import { given } from '../given.ts'
import { createProgressBar } from '../progress.ts'
import { addReadingOptions, type ReadingOptions } from '../reading-options.ts'
import { Interrupted, Refusal } from '../refusal.ts'
import { formatOf, openResultFile } from '../result-file.ts'
import { formatOption } from '../results-options.ts'
import { openServiceClient } from '../service.ts'
import { writeJson, type Shell } from '../shell.ts'

interface Options extends ReadingOptions {
  readonly product: Product
  readonly out: string
  readonly format?: ResultFormat
  readonly maxCredits?: number
  readonly retentionDays?: number
  readonly name?: string
  readonly explain: boolean
  readonly yes: boolean
  readonly key?: string
  readonly json: boolean
}

/**
 * Milliseconds that Ctrl-C waits for the response to an upload, so that the batch can be canceled.
 */
const RESPONSE_MS = 2_000

/** `batch run`: uploads a file, follows it and writes its results. */
export function addBatchRun(parent: Command, shell: Shell): void {
  const command = parent
    .command('run')
    .description('upload a file as a batch, follow it and write its results; ctrl-C cancels it')
    .argument('<file>', 'csv, tsv, txt, ndjson, xlsx, xlsm or ods; also in a gzip or zip')
    .addOption(
      new Option('--product <product>', 'what to ask for each row')
        .choices(PRODUCTS)
        .makeOptionMandatory(),
    )
    .requiredOption('--out <file>', 'where the results go')
    .addOption(formatOption())
  addReadingOptions(command)
    .option(
      '--max-credits <count>',
      'do not start a batch that may cost more',
      wholeNumber({ min: 0, max: CREDITS_MAX }),
    )
    .option(
      '--retention-days <days>',
      'when the service erases it',
      // Of 0 days the results could be erased before they are fetched.
      wholeNumber({ min: 1, max: RETENTION_DAYS.max }),
    )
    .option('--name <text>', 'name of the batch')
    .option('--explain', 'keep how each part of the results is known', false)
    .option('--yes', 'start without asking, also on a terminal', false)
    .addOption(keyOption())
    .addOption(jsonOption())
    .action((file: string, options: Options) => run(shell, file, options))
}

async function run(shell: Shell, path: string, options: Options): Promise<void> {
  const client = await openServiceClient(shell.environment, options.key)
  const request = await requestOf(path, options)
  await using result = await openResultFile(options.out)
  const asks = isAsking(shell) && !options.yes
  const uploaded = await upload(shell, client, { ...request, ...(asks ? { start: false } : {}) })
  const started = asks
    ? await confirmStart(shell, client, uploaded.id, options.maxCredits)
    : uploaded
  const batch = await follow(shell, client, started)
  const format = formatOf(options.out, options.format)
  const results = await client.batches.results(batch.id, { format, signal: shell.stop })
  if (!results.complete)
    throw new Refusal(`The results of ${batch.id} are not complete; ask again.`)
  await result.keep(results.body, shell.stop)
  if (options.json) writeJson(shell, batch)
  else shell.write(`${summary(batch)}\nResults: ${options.out}\n`)
}

/** Whether there is a terminal at which the user can confirm the cost. */
function isAsking(shell: Shell): shell is Shell & Required<Pick<Shell, 'ask'>> {
  return shell.ask !== undefined
}

async function follow(shell: Shell, client: Client, created: BatchView): Promise<BatchView> {
  using bar = createProgressBar(shell)
  bar.show(created)
  return await followBatch(shell, client, created.id, (batch) => bar.show(batch))
}

async function requestOf(path: string, options: Options): Promise<BatchPath> {
  const facts = await stat(path).catch(() => undefined)
  if (facts?.isFile() === false) throw new Refusal(`${path} is not a file; a batch is one file.`)
  await access(path, constants.R_OK).catch((cause: unknown) => {
    throw new Refusal(`There is no file ${path} that can be read.`, { cause })
  })
  return {
    product: options.product,
    // Not a Blob, which ends the process if the file changes while it is sent.
    path,
    fileName: basename(path),
    explain: options.explain,
    ...given({
      mapping: options.mapping,
      header: options.header,
      sheet: options.sheet,
      entry: options.entry,
      encoding: options.encoding,
      delimiter: DELIMITER_NAMES.get(options.delimiter ?? ''),
      known: options.known,
      knownAt: options.knownAt,
      defaultCountry: options.defaultCountry,
      maxCredits: options.maxCredits,
      retentionDays: options.retentionDays,
      name: options.name,
    }),
  }
}

async function upload(shell: Shell, client: Client, request: BatchPath): Promise<BatchView> {
  shell.stop.throwIfAborted()
  const cut = new AbortController()
  const stopping = (): void => void setTimeout(() => cut.abort(), RESPONSE_MS).unref()
  shell.stop.addEventListener('abort', stopping, { once: true })
  try {
    return await client.batches.create(request, {
      signal: cut.signal,
      idempotencyKey: randomUUID(),
    })
  } catch (error) {
    if (!cut.signal.aborted) throw error
    throw new Interrupted('The upload was cut; "batch list" shows whether anything came of it.')
  } finally {
    shell.stop.removeEventListener('abort', stopping)
  }
}

function summary({ id, rows, verdicts, credits }: BatchView): string {
  const said = Object.entries(verdicts).map(([verdict, count]) => `${count} ${verdict}`)
  const known = rows.known === 0 ? '' : `${rows.known} known, `
  const kinds = `${known}${rows.duplicate} duplicate, ${rows.refused} refused, ${rows.blank} blank`
  const lines = [`${id}: ${rows.total} rows (${kinds}), ${credits.used} credits used`]
  return [...lines, ...(said.length === 0 ? [] : [said.join(', ')])].join('\n')
}
