import type { Json } from '@plumbline/contract/outcome'
import type { EngineHealth } from '@plumbline/ports/engine'
import type { Db } from './database.ts'
import { createPostgresMemory } from './memory.ts'

/** Result of `doctor`, the examination of the installation. It contains no subjects. */
export interface DoctorReport {
  /** When it was finished, ISO 8601. */
  readonly at: string
  /** The machine that it ran on: other machines may reach less or more. */
  readonly machine: string
  readonly findings: readonly (EngineHealth & { readonly advice: string | null })[]
}

/** Milliseconds after which a report is too old to show. */
const KEPT_MS = 30 * 86_400_000
const KEY = 'doctor:report'

/** Stores the newest report, for the operator's pages. */
export async function storeDoctorReport(db: Db, report: DoctorReport): Promise<void> {
  const memory = createPostgresMemory(db, { durable: true })
  await memory.set([{ key: KEY, value: asJson(report), ttlMs: KEPT_MS }])
}

/** The newest report; undefined if there is none of the last 30 days. */
export async function readDoctorReport(db: Db): Promise<DoctorReport | undefined> {
  const [value] = await createPostgresMemory(db, { durable: true }).get([KEY])
  // Safe because only `storeDoctorReport` writes under this key.
  return value as DoctorReport | undefined
}

/** Safe because a report holds only strings, arrays and null. */
function asJson(report: DoctorReport): Json {
  return report as unknown as Json
}
