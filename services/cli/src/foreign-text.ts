import { withoutBidiControls } from '@plumbline/contract/bidi-controls'

/** Text of others without characters that control the terminal or change the text direction. */
export function foreignLine(text: string): string {
  return withoutBidiControls(text).replace(/\p{Cc}/gu, '?')
}

/** Likewise with line breaks and tabs: a message of the service may quote names of a file. */
export function foreignText(text: string): string {
  return withoutBidiControls(text).replace(/[^\P{Cc}\n\t]/gu, '?')
}
