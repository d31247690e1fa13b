import type { Json } from '@plumbline/contract/outcome'
import type { EngineHealth } from '@plumbline/ports/engine'
import type { Db } from './database.ts'
import { createPostgresMemory } from './memory.ts'

/** What an examination of the installation found: no subject stands in it. */
export interface DoctorReport {
  /** When it ended, in ISO 8601. */
  readonly at: string
  /** The machine that it ran on: what it reaches, others may not. */
  readonly machine: string
  readonly findings: readonly (EngineHealth & { readonly advice: string | null })[]
}

/** An older report tells nothing of today. */
const KEPT_MS = 30 * 86_400_000
const KEY = 'doctor:report'

/** Keeps the newest report, for the operator's pages. */
export async function keepDoctorReport(db: Db, report: DoctorReport): Promise<void> {
  const memory = createPostgresMemory(db, { durable: true })
  await memory.set([{ key: KEY, value: asJson(report), ttlMs: KEPT_MS }])
}

/** The newest report; undefined if there is none of the last 30 days. */
export async function readDoctorReport(db: Db): Promise<DoctorReport | undefined> {
  const [value] = await createPostgresMemory(db, { durable: true }).get([KEY])
  // Safe because only `keepDoctorReport` writes under this key.
  return value as DoctorReport | undefined
}

/** Safe because a report is made of texts, lists and null alone. */
function asJson(report: DoctorReport): Json {
  return report as unknown as Json
}
