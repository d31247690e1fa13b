import { CHECKS, type Check } from '@plumbline/contract/products'
import type { NewChunk } from '@plumbline/db/batches/chunks'
import { pack, packCells, type ChunkCells, type ChunkSubjects, type StoredClaim } from './codec.ts'
import type { FileRow } from '@plumbline/intake/row-builder'

/**
 * Packs a run of rows as one chunk: the unchanged rows in `cells`, their subjects in `subjects`.
 */
export function buildChunk(no: number, rows: readonly FileRow[]): NewChunk {
  const ofRow: Record<string, number> = {}
  const uncheckedSubjects: Record<string, FileRow['subjects']> = {}
  const claims: Record<string, StoredClaim> = {}
  const errors: Record<string, string> = {}
  const refs: Record<string, string> = {}
  const asked = new Map<Check, { subjects: string[]; places: number[] }>()
  let billableCount = 0
  for (const [place, row] of rows.entries()) {
    if (row.kind === 'duplicate' && row.ofRow !== undefined) ofRow[place] = row.ofRow
    if (row.kind === 'duplicate' || row.kind === 'known') uncheckedSubjects[place] = row.subjects
    const claim = claimOf(row)
    if (claim !== undefined) claims[place] = claim
    if (row.error !== undefined) errors[place] = row.error
    if (row.ref !== undefined) refs[place] = row.ref
    if (row.kind !== 'billable') continue
    billableCount += 1
    for (const check of CHECKS) {
      const subject = row.subjects[check]
      if (subject === undefined) continue
      const found = asked.get(check) ?? { subjects: [], places: [] }
      found.subjects.push(subject)
      found.places.push(place)
      asked.set(check, found)
    }
  }
  const subjects: ChunkSubjects = Object.fromEntries(asked)
  const kinds = rows.map((row) => row.kind)
  const cells = {
    rows: rows.map((row) => row.cells),
    kinds,
    ofRow,
    uncheckedSubjects,
    ...(Object.keys(claims).length === 0 ? {} : { claims }),
    errors,
    refs,
  } satisfies ChunkCells
  const countOf = (check: Check): number => asked.get(check)?.subjects.length ?? 0
  return {
    no,
    firstRow: rows[0]?.row ?? 0,
    rowCount: rows.length,
    billableCount,
    counts: {
      email: countOf('email'),
      phone: countOf('phone'),
      ip: countOf('ip'),
      domain: countOf('domain'),
    },
    subjects: pack(subjects),
    cells: packCells(cells),
  }
}

/** The claim to store with a known row: the other service's verdict. */
function claimOf({ kind, claim, ofRow }: FileRow): StoredClaim | undefined {
  if (kind !== 'known') return undefined
  return claim ?? (ofRow === undefined ? undefined : { ofRow })
}
