import { Problem } from '@plumbline/contract/problem'
import type { Db, Tx } from '@plumbline/db/database'
import { insertLinkCode, type LinkCode } from '@plumbline/db/people/link-codes'
import type { People, Visitor } from './people.ts'
import { newSecret } from './secret.ts'

/** Where a link leads; its secret stands behind `#`, which no server sees and no log keeps. */
export function linkTo(
  people: Pick<People, 'settings'>,
  visitor: Pick<Visitor, 'origin'>,
  path: string,
  secret?: string,
): string {
  const base = people.settings.publicUrl ?? visitor.origin
  return `${base}/app/${path}${secret === undefined ? '' : `#${secret}`}`
}

/** What a new link does, and for how long; what is left out is of nobody. */
type NewLink = Partial<LinkCode> & Pick<LinkCode, 'purpose'> & { readonly minutes: number }

/** Keeps what the secret of a link does. @returns the secret */
export async function insertLinkSecret(tx: Db | Tx, link: NewLink): Promise<string> {
  const { secret, digest } = newSecret()
  const plain = { userId: null, accountId: null, emailKey: null, detail: null, isLocalOnly: false }
  await insertLinkCode(tx, { ...plain, ...link, digest })
  return secret
}

/** The refusal of a link that is used, too old or made up. */
export function staleLink(): Problem {
  return new Problem('unprocessable', 'This link was used before or is too old; ask for a new one.')
}
