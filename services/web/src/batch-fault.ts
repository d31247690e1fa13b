import type { BatchFault } from '@plumbline/contract/batch-view'
import { checksOf, type Check, type Product } from '@plumbline/contract/products'
import { visibleText } from './components/text.tsx'

/** Names of the content of a column, by check. */
const CELLS: Readonly<Record<Check, string>> = {
  email: 'email addresses',
  phone: 'phone numbers',
  ip: 'IP addresses',
  domain: 'domain names',
}

/**
 * Why a batch cannot continue. Advice for programs is replaced by where to correct it in the app.
 */
export function batchFault({ message, field }: BatchFault, product: Product): string {
  const [required] = checksOf(product)
  switch (field) {
    case 'mapping':
      if (required === undefined) break
      return `No column is known to hold ${CELLS[required]}. Choose one under Columns.`
    case 'known':
      return 'The file has no column with verdicts of another service that is known here. Choose “Check every row anew” under Verdicts you have already.'
    case 'known_at':
      return 'The file does not tell when its verdicts were given. Take their day under Verdicts you have already.'
    case 'entry':
      return 'The ZIP file holds several files. Choose the one to read.'
    default:
  }
  return visibleText(message)
}
