import { SHOWN_ACCOUNT_HEADER } from '@plumbline/contract/app/paths'

let shown: string | null = null

/** Notes the account that the page shows; null if it shows none. */
export function noteShownAccount(id: string | null): void {
  shown = id
}

/**
 * The header of a change: another window of the browser may have switched the session to another
 * account, in which the change must not be made.
 */
export function shownAccountHeader(): Readonly<Record<string, string>> {
  return shown === null ? {} : { [SHOWN_ACCOUNT_HEADER]: shown }
}
