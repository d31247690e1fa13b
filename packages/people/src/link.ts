import { Problem } from '@plumbline/contract/problem'
import type { Db, Tx } from '@plumbline/db/database'
import { insertLinkCode, type LinkCode } from '@plumbline/db/people/link-codes'
import type { People, Visitor } from './people.ts'
import { newSecret } from './secret.ts'

/**
 * The URL of a link; its secret is in the fragment, which is not sent to servers and appears in no
 * log.
 */
export function linkTo(
  people: Pick<People, 'settings'>,
  visitor: Pick<Visitor, 'origin'>,
  path: string,
  secret?: string,
): string {
  const base = people.settings.publicUrl ?? visitor.origin
  return `${base}/app/${path}${secret === undefined ? '' : `#${secret}`}`
}

/** A new link, without the fields that are chosen here, and its validity in minutes. */
export type NewLink = Partial<LinkCode> & Pick<LinkCode, 'purpose'> & { readonly minutes: number }

/**
 * Stores a new link.
 *
 * @returns its secret
 */
export async function insertLinkSecret(tx: Db | Tx, link: NewLink): Promise<string> {
  const { secret, digest } = newSecret()
  const plain = { userId: null, accountId: null, emailKey: null, detail: null, isLocalOnly: false }
  await insertLinkCode(tx, { ...plain, ...link, digest })
  return secret
}

/** The refusal of a link that is used, expired or invented. */
export function staleLink(): Problem {
  return new Problem('unprocessable', 'This link was used before or is too old; ask for a new one.')
}
