import { CHECKS, type Check } from '@plumbline/contract/products'
import type { BlankedChunk, HeldChunk, HeldPart, HeldTask } from '@plumbline/db/batches/blank'
import type { BatchRow } from '@plumbline/db/batches/rows'
import { isRecord, parseExactly } from '@plumbline/intake/json-row'
import { blankOutcomes } from './blank-outcomes.ts'
import {
  pack,
  packCells,
  unpackCells,
  unpackSubjects,
  type ChunkCells,
  type ChunkSubjects,
} from './codec.ts'
import { ERASED_NOTE, ERASED_SUBJECT, isErasedSubject } from './erased-row.ts'
import type { ValueFinder } from './erased-values.ts'
import type { AskedSubject } from './erasure-stores.ts'
import { scrubJson } from './scrub-json.ts'
import { isJsonBatch } from './table-columns.ts'

/** Columns of a batch that determine how its cells are read. */
export type CellsOf = Pick<BatchRow, 'file_format' | 'mapping' | 'header' | 'default_country'>

/** A chunk without the erased values, and the values that it held. */
export interface ChunkBlanks {
  readonly blanked: BlankedChunk
  readonly rowCount: number
  /** Subjects as the chunk checked them. */
  readonly subjects: readonly AskedSubject[]
}

/** Removes erased values from a chunk; undefined if it holds none. */
export function blankChunk(
  chunk: HeldChunk,
  batch: CellsOf,
  finder: ValueFinder,
): ChunkBlanks | undefined {
  const asked = blankSubjects(unpackSubjects(chunk.subjects), finder)
  const cells = blankCells(unpackCells(chunk.cells), asked.rows, batch, finder)
  const parts = chunk.parts.flatMap((part) => blankPart(part, asked.left, finder.scrub))
  const tasks = chunk.tasks.flatMap((task) => blankTask(task, asked.left, finder.scrub))
  const hasErased = asked.erased.length > 0 || cells.rows.size > 0
  if (!hasErased && parts.length === 0 && tasks.length === 0) return undefined
  return {
    blanked: {
      ...(asked.erased.length === 0 ? {} : { subjects: pack(asked.left) }),
      ...(cells.rows.size === 0 ? {} : { cells: packCells(cells.left) }),
      parts,
      tasks,
    },
    rowCount: cells.rows.size,
    subjects: asked.erased,
  }
}

/** A chunk without the outcomes and states that were stored for subjects after their erasure. */
export function blankLate(chunk: HeldChunk): BlankedChunk {
  const subjects = unpackSubjects(chunk.subjects)
  const same = (text: string): string => text
  return {
    parts: chunk.parts.flatMap((part) => blankPart(part, subjects, same)),
    tasks: chunk.tasks.flatMap((task) => blankTask(task, subjects, same)),
  }
}

interface BlankedSubjects {
  readonly left: ChunkSubjects
  readonly erased: readonly AskedSubject[]
  /** The checks whose subject was erased, by position of the row. */
  readonly rows: ReadonlyMap<number, ReadonlySet<Check>>
}

function blankSubjects(subjects: ChunkSubjects, finder: ValueFinder): BlankedSubjects {
  const left: { [C in Check]?: NonNullable<ChunkSubjects[C]> } = {}
  const erased: AskedSubject[] = []
  const rows = new Map<number, Set<Check>>()
  for (const check of CHECKS) {
    const held = subjects[check]
    if (held === undefined) continue
    const kept = held.subjects.map((subject, at) => {
      if (!isErased(finder, check, subject)) return subject
      erased.push({ check, subject })
      addTo(rows, held.places[at] ?? -1, check)
      return ERASED_SUBJECT
    })
    left[check] = { subjects: kept, places: held.places }
  }
  return { left, erased, rows }
}

function isErased(finder: ValueFinder, check: Check, subject: string): boolean {
  return finder.isErased(check, subject) || finder.scrub(subject) !== subject
}

function addTo(rows: Map<number, Set<Check>>, place: number, check: Check): void {
  const known = rows.get(place)
  if (known === undefined) rows.set(place, new Set([check]))
  else known.add(check)
}

/** Cells without the values, and the positions of rows that held any. */
function blankCells(
  cells: ChunkCells,
  askedOf: BlankedSubjects['rows'],
  batch: CellsOf,
  finder: ValueFinder,
): { readonly left: ChunkCells; readonly rows: ReadonlySet<number> } {
  const rows = new Set(askedOf.keys())
  const checksOf = new Map<number, Set<Check>>()
  for (const [place, checks] of askedOf) checksOf.set(place, new Set(checks))
  const uncheckedSubjects = Object.fromEntries(
    Object.entries(cells.uncheckedSubjects).map(([place, subjects]) => {
      const kept = Object.fromEntries(
        Object.entries(subjects).map(([check, subject]) => {
          const of = CHECKS.find((one) => one === check)
          if (of === undefined || subject === undefined || !isErased(finder, of, subject)) {
            return [check, subject]
          }
          addTo(checksOf, Number(place), of)
          rows.add(Number(place))
          return [check, ERASED_SUBJECT]
        }),
      )
      return [place, kept]
    }),
  )
  const isJson = isJsonBatch(batch)
  const scrub = scrubberOf(finder, batch)
  const left = cells.rows.map((row, place) => {
    const own = checksOf.get(place) ?? new Set<Check>()
    const kept = isJson
      ? row.map((text) => blankJson(text, own, batch, scrub))
      : row.map((cell, column) => blankCell(cell, column, own, batch, scrub))
    if (kept.some((cell, at) => cell !== row[at])) rows.add(place)
    return kept
  })
  const refs = Object.fromEntries(
    Object.entries(cells.refs).map(([place, ref]) => {
      const kept = scrub(ref)
      if (kept !== ref) rows.add(Number(place))
      return [place, kept]
    }),
  )
  const errors: Record<string, string> = {}
  for (const [place, error] of Object.entries(cells.errors)) {
    const kept = scrub(error)
    if (kept !== error) rows.add(Number(place))
    errors[place] = kept
  }
  for (const place of rows) errors[place] = noted(errors[place])
  return { left: { ...cells, rows: left, uncheckedSubjects, refs, errors }, rows }
}

function noted(error: string | undefined): string {
  if (error === undefined || error === '') return ERASED_NOTE
  return error.startsWith(ERASED_NOTE) ? error : `${ERASED_NOTE}; ${error}`
}

function blankCell(
  cell: string,
  column: number,
  checks: ReadonlySet<Check>,
  batch: CellsOf,
  scrub: (text: string) => string,
): string {
  if (cell === '') return cell
  // The row was checked for this value, however the cell writes it.
  for (const check of checks) if (batch.mapping[check]?.column === column) return ''
  return scrub(cell)
}

/**
 * Makes a function that removes the values from texts of a batch, also numbers in national format
 * of its country.
 */
export function scrubberOf(
  finder: ValueFinder,
  batch: Pick<CellsOf, 'default_country'>,
): (text: string) => string {
  const country = batch.default_country ?? undefined
  return (text) => finder.scrub(text, country)
}

function blankJson(
  text: string,
  checks: ReadonlySet<Check>,
  batch: CellsOf,
  scrub: (text: string) => string,
): string {
  try {
    const value = parseExactly(text)
    const scrubbed = scrubJson(value, scrub)
    const keys = [...checks].flatMap((check) => batch.mapping[check]?.header ?? [])
    if (keys.length === 0 || !isRecord(scrubbed)) {
      return scrubbed === value ? text : JSON.stringify(scrubbed)
    }
    const own = Object.entries(scrubbed).map(([key, item]) => [key, keys.includes(key) ? '' : item])
    return JSON.stringify(Object.fromEntries(own))
  } catch {
    // Not JSON, or nested deeper than the stack allows.
    return scrub(text)
  }
}

function blankPart(
  part: HeldPart,
  subjects: ChunkSubjects,
  scrub: (text: string) => string,
): BlankedChunk['parts'] {
  const places = erasedPlaces(part, subjects)
  const outcomes = blankOutcomes(part.check, part.outcomes, { places, scrub })
  return outcomes === undefined ? [] : [{ id: part.id, outcomes }]
}

function blankTask(
  task: HeldTask,
  subjects: ChunkSubjects,
  scrub: (text: string) => string,
): BlankedChunk['tasks'] {
  if (task.states === null) return []
  const places = erasedPlaces(task, subjects)
  let isChanged = false
  const states = task.states.map((state, at) => {
    const kept = places.has(at) ? null : asJson(scrubJson(state, scrub))
    isChanged ||= kept !== state
    return kept
  })
  return isChanged ? [{ id: task.id, version: task.version, states }] : []
}

/** Safe because a JSON value whose strings were changed is still a JSON value. */
function asJson(value: unknown): NonNullable<HeldTask['states']>[number] {
  return value as NonNullable<HeldTask['states']>[number]
}

/** Positions of erased subjects in a part or task. */
function erasedPlaces(
  { check, indexes }: Pick<HeldPart, 'check' | 'indexes'>,
  subjects: ChunkSubjects,
): ReadonlySet<number> {
  const asked = subjects[check]?.subjects ?? []
  const all = indexes ?? asked.keys()
  const places = new Set<number>()
  let place = 0
  for (const index of all) {
    const subject = asked[index]
    if (subject !== undefined && isErasedSubject(subject)) places.add(place)
    place += 1
  }
  return places
}
