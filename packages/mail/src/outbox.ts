import type { Db, Tx } from '@plumbline/db/database'
import { insertMail } from '@plumbline/db/mails'
import { composeMail, type ComposedMail } from './compose.ts'
import { MAIL_HOURS, type MailMessage } from './message.ts'

/** Encrypts messages while they wait, with the installation's key. */
export interface Sealer {
  encrypt(value: string, name: string): string
  decrypt(text: string, name: string): string | undefined
}

/** Associated data under which messages are encrypted. */
export const MAIL_SEALED_AS = 'mail'

/**
 * Stores a message in the transaction of the event that it reports; it is sent after the commit.
 *
 * @param keys `onceKey`: a message with this key is sent only once; `withdrawKey`: it replaces a
 * message with this key that has not been sent, and can be withdrawn by it
 * @returns whether it was stored
 */
export async function queueMail(
  tx: Db | Tx,
  sealer: Pick<Sealer, 'encrypt'>,
  message: MailMessage,
  keys: { readonly onceKey?: string; readonly withdrawKey?: string } = {},
): Promise<boolean> {
  const sealed = sealer.encrypt(JSON.stringify(composeMail(message)), MAIL_SEALED_AS)
  return await insertMail(tx, {
    kind: message.kind,
    sealed,
    hours: MAIL_HOURS[message.kind],
    ...keys,
  })
}

/** Decrypts a message; undefined if it was encrypted under another key. */
export function openMail(
  sealer: Pick<Sealer, 'decrypt'>,
  sealed: string,
): ComposedMail | undefined {
  const text = sealer.decrypt(sealed, MAIL_SEALED_AS)
  // Safe because only `queueMail` hides anything under this name.
  return text === undefined ? undefined : (JSON.parse(text) as ComposedMail)
}
