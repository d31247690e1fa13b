import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { EngineHealth } from '@plumbline/ports/engine'
import { isMissing, type SourceUpdate } from './update.ts'
import { writeAtomically } from './write-atomically.ts'

/**
 * Result of the last update of a folder of lists, stored there as `last-update.json`. Times are ISO
 * 8601.
 */
export interface UpdateRecord {
  readonly startedAt: string
  /** Null while the update runs, and for good if its process died. */
  readonly endedAt: string | null
  /** When the last update ended for which every source was available; null if there was none. */
  readonly wholeAt: string | null
  /** Number of fetched sources. */
  readonly sourceCount: number
  /** Sources that failed, so that their old files stay in use. */
  readonly missing: readonly Pick<SourceUpdate, 'file' | 'detail'>[]
}

const RECORD_FILE = 'last-update.json'
/** Milliseconds without an update after which the operator is warned. */
const LATE_MS = 3 * 86_400_000
/** Milliseconds after which an update without an end has failed: it may take an hour. */
const LONGEST_MS = 2 * 3_600_000

/** The record of a folder; null if there is none, or it is malformed. */
export async function readUpdateRecord(dir: string): Promise<UpdateRecord | null> {
  const text = await readFile(join(dir, RECORD_FILE), 'utf8').catch(() => null)
  return text === null ? null : recordIn(text)
}

/** Records that an update begins. */
export async function noteUpdateStart(dir: string, now: Date): Promise<UpdateRecord> {
  const before = await readUpdateRecord(dir)
  const record: UpdateRecord = {
    startedAt: now.toISOString(),
    endedAt: null,
    wholeAt: before?.wholeAt ?? null,
    sourceCount: 0,
    missing: [],
  }
  await writeRecord(dir, record)
  return record
}

/** Makes the record again what it was before an update that was stopped, so that it is repeated. */
export async function putBackRecord(dir: string, before: UpdateRecord | null): Promise<void> {
  if (before === null) await rm(join(dir, RECORD_FILE), { force: true })
  else await writeRecord(dir, before)
}

/** Records the result of an update. */
export async function noteUpdateEnd(
  dir: string,
  record: UpdateRecord,
  updates: readonly SourceUpdate[],
  now: Date,
): Promise<void> {
  const missing = updates.filter(isMissing).map(({ file, detail }) => ({ file, detail }))
  const endedAt = now.toISOString()
  const wholeAt = missing.length === 0 ? endedAt : record.wholeAt
  await writeRecord(dir, { ...record, endedAt, wholeAt, sourceCount: updates.length, missing })
}

/** Whether the last update was complete, with its result in a sentence. */
export function judgeUpdate(
  { startedAt, endedAt, sourceCount, missing }: UpdateRecord,
  now: Date,
): Pick<EngineHealth, 'status' | 'detail'> {
  const ageMs = now.getTime() - Date.parse(startedAt)
  if (ageMs > LATE_MS) return { status: 'degraded', detail: `none since ${startedAt}` }
  if (endedAt === null) {
    return ageMs > LONGEST_MS
      ? { status: 'degraded', detail: `begun at ${startedAt} and not ended` }
      : { status: 'ok', detail: `begun at ${startedAt}` }
  }
  if (missing.length === 0) return { status: 'ok', detail: `all came at ${endedAt}` }
  const files = missing.map(({ file }) => file).join(', ')
  const detail = `${missing.length} of ${sourceCount} sources did not come at ${endedAt}, and what was there before stays in use: ${files}`
  return { status: 'degraded', detail }
}

async function writeRecord(dir: string, record: UpdateRecord): Promise<void> {
  await writeAtomically(dir, RECORD_FILE, `${JSON.stringify(record, null, 2)}\n`)
}

/**
 * Safe because only this module writes the file, atomically; a record without a time comes from
 * elsewhere.
 */
function recordIn(text: string): UpdateRecord | null {
  try {
    const record = JSON.parse(text) as UpdateRecord | null
    return Number.isNaN(Date.parse(record?.startedAt ?? '')) ? null : record
  } catch {
    return null
  }
}
