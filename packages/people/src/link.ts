import { Problem } from '@plumbline/contract/problem'
import type { People, Visitor } from './people.ts'

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

/** The refusal of a link that is used, too old or made up. */
export function staleLink(): Problem {
  return new Problem('unprocessable', 'This link was used before or is too old; ask for a new one.')
}
