import type { Db, Tx } from '@plumbline/db/database'
import { insertMail } from '@plumbline/db/mails'
import { composeMail, type ComposedMail } from './compose.ts'
import { MAIL_HOURS, type MailMessage } from './message.ts'

/** What hides a message while it waits; the installation's key does. */
export interface Sealer {
  encrypt(value: string, name: string): string
  decrypt(text: string, name: string): string | undefined
}

/** Name under which messages are hidden. */
export const MAIL_SEALED_AS = 'mail'

/**
 * Writes a message in the transaction of what it tells; it goes out after the commit.
 * @param onceKey what is told once only, however often this is called
 * @returns whether it was written
 */
export async function queueMail(
  tx: Db | Tx,
  sealer: Pick<Sealer, 'encrypt'>,
  message: MailMessage,
  onceKey?: string,
): Promise<boolean> {
  const sealed = sealer.encrypt(JSON.stringify(composeMail(message)), MAIL_SEALED_AS)
  return await insertMail(tx, {
    kind: message.kind,
    sealed,
    hours: MAIL_HOURS[message.kind],
    ...(onceKey === undefined ? {} : { onceKey }),
  })
}

/** The message again; undefined if it was hidden under another key. */
export function openMail(
  sealer: Pick<Sealer, 'decrypt'>,
  sealed: string,
): ComposedMail | undefined {
  const text = sealer.decrypt(sealed, MAIL_SEALED_AS)
  // Safe because only `queueMail` hides anything under this name.
  return text === undefined ? undefined : (JSON.parse(text) as ComposedMail)
}
