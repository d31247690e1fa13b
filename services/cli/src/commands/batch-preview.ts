import type { BatchPreview } from '@plumbline/contract/batch-preview'
import type { Command } from 'commander'
import { foreignText } from '../foreign-text.ts'
import { serviceCommand, showResponse, type ServiceOptions } from '../service-command.ts'
import type { Shell } from '../shell.ts'
import { facts, table } from '../table.ts'

/** `batch preview`: the content of a batch, and its cost if it is started. */
export function addBatchPreview(parent: Command, shell: Shell): void {
  serviceCommand(
    parent,
    'preview',
    'show the columns of a batch, what is wrong with its rows, and what it would cost',
  )
    .argument('<id>', 'batch')
    .action((id: string, options: ServiceOptions) =>
      showResponse(
        shell,
        options,
        (client, call) => client.batches.preview(id, call),
        (preview) => previewText(preview, shell),
      ),
    )
}

/** A preview as text. */
export function previewText(preview: BatchPreview, screen: Pick<Shell, 'hasColors'>): string {
  const { columns, refused, file, known, rows, cost, error } = preview
  const named = columns.map(({ column, header, field, kind, confidence, values }) => [
    String(column),
    header ?? '',
    field ?? '',
    `${kind} ${Math.round(confidence * 100)} %`,
    values.join(' | '),
  ])
  const { parts = [], ...sums } = cost ?? {}
  return [
    facts({ product: preview.product, status: preview.status, file }, screen),
    table(['column', 'header', 'field', 'looks like', 'values'], named, screen),
    known === null ? '' : facts({ known }, screen),
    rows === null ? 'The rows are still being counted.\n' : facts({ rows }, screen),
    refused === null || refused.length === 0
      ? ''
      : table(
          ['refused', 'why', 'rows such as'],
          refused.map(({ count, reason, examples }) => [
            String(count),
            reason,
            examples.map(({ row }) => row).join(', '),
          ]),
          screen,
        ),
    parts.length === 0
      ? ''
      : table(
          ['part', 'records', 'price', 'credits'],
          parts.map(({ part, records, price, credits }) => [
            part,
            String(records),
            String(price),
            String(credits),
          ]),
          screen,
        ),
    cost === null ? '' : facts({ cost: sums }, screen),
    error === null ? '' : `${foreignText(error.message)}\n`,
  ]
    .filter((part) => part !== '')
    .join('\n')
}
