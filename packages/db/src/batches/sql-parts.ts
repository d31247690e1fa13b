/** Named parts of a large statement in their order, each read by those after it. */
type Parts<Name extends string> = Readonly<Record<Name, string>>

/** The `with` clause of the parts up to and including one of them. */
export function partsUpTo<Name extends string>(parts: Parts<Name>, last: Name): string {
  const entries = Object.entries<string>(parts)
  const end = entries.findIndex(([name]) => name === last) + 1
  return `with ${entries
    .slice(0, end)
    .map(([name, text]) => `${name} as (${text})`)
    .join(', ')}`
}

/** The statement up to and including a part; returns that part's rows. */
export function statementUpTo<Name extends string>(parts: Parts<Name>, last: Name): string {
  return `${partsUpTo(parts, last)} select * from ${last}`
}
