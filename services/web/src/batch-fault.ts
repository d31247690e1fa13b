import { visibleText } from './components/text.tsx'

/** What keeps a batch from going on, without the advice that is for programs: here a column is chosen on the batch's page. */
export function batchFault({ message }: { readonly message: string }): string {
  return visibleText(
    message.replace(/; name one with "mapping": \{[^}]*\}\.$/, '. Choose one under Columns.'),
  )
}
