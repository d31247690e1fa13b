import type { AsnListName, ListSource } from './source.ts'

/** A list of autonomous systems. */
export interface AsnList {
  readonly name: AsnListName
  readonly sources: readonly ListSource[]
  readonly count: number
  /** The source that lists the number; null if none does. */
  match(asn: number): ListSource | null
}

/** One source and its numbers. */
export interface AsnPart {
  readonly source: ListSource
  readonly asns: ReadonlySet<number>
}

/** Creates a list from its parts. */
export function buildAsns(name: AsnListName, parts: readonly AsnPart[]): AsnList {
  return {
    name,
    sources: parts.map((part) => part.source),
    count: parts.reduce((sum, part) => sum + part.asns.size, 0),
    match: (asn) => parts.find((part) => part.asns.has(asn))?.source ?? null,
  }
}
