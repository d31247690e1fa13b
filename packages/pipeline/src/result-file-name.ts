import { withoutBidiControls } from '@plumbline/contract/bidi-controls'
import type { ResultFormat } from '@plumbline/contract/results-request'

/** Characters of the upload's name that are kept. */
const MAX_CHARS = 80

/** Endings of files that are read, with those of the archives around them. */
const ENDING = /(?:\.(?:csv|tsv|tab|txt|xlsx|ods|ndjson|jsonl|json))?(?:\.(?:gz|zip))?$/i

/** Characters that some file system refuses in a name, or takes for a folder. */
const UNSAFE = /[\p{Cc}\p{Cs}<>:"/\\|?*]+/gu

/** A batch, as far as its result files are named after it. */
export interface NamedBatch {
  readonly id: string
  /** Name of the uploaded file; null for records. */
  readonly file_name: string | null
  readonly name: string | null
}

/**
 * Name of a result file: that of the upload, else of the batch, else its id, then what the file
 * holds: `contacts.csv.gz` becomes `contacts-result.csv`. It has no character that a file system
 * refuses or that changes the direction of text.
 *
 * @param content the rows that the file holds, such as `result` or `refused`
 */
export function resultFileName(batch: NamedBatch, content: string, format: ResultFormat): string {
  const base = safeBase(batch.file_name?.replace(ENDING, '')) || safeBase(batch.name) || batch.id
  return `${base}-${content}.${format}`
}

/** Without dots and blanks at both ends, which hide a file or are removed. */
function safeBase(name: string | null | undefined): string {
  const plain = withoutBidiControls(name ?? '').replaceAll(UNSAFE, '_')
  return [...plain]
    .slice(0, MAX_CHARS)
    .join('')
    .replaceAll(/^[.\s_]+|[.\s_]+$/gu, '')
}
