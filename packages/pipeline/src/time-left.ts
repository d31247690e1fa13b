import { CHECKS, type Check } from '@plumbline/contract/products'
import type { PaceSample } from '@plumbline/db/tables/batches'

/** How many samples of a batch's pace are kept, and how far they are apart at least: of the time that it runs. */
const MOST_SAMPLES = 12
const SPACING = 0.03
/** Milliseconds between two samples at least: workers save what they have this often. */
export const LEAST_SPACING_MS = 5_000

/** A pace is told by no shorter time: a save brings in what took longer. Of the time that the batch runs. */
const LEAST_WINDOW = 0.1

/**
 * Samples with one more, the oldest left out: they reach over the last third of the time that a batch runs.
 * @returns null where the last one is too young
 */
export function withSample(
  samples: readonly PaceSample[],
  sample: PaceSample,
  startedMs: number,
): readonly PaceSample[] | null {
  const last = samples.at(-1)
  const spacingMs = Math.max(LEAST_SPACING_MS, (sample.at - startedMs) * SPACING)
  if (last !== undefined && sample.at - last.at < spacingMs) return null
  return [...samples, sample].slice(-MOST_SAMPLES)
}

/** What is seen of a running batch. */
export interface SeenBatch {
  /** Milliseconds that it runs, rests left out. */
  readonly elapsedMs: number
  readonly nowMs: number
  /** Subjects by check: all, and those without an outcome. */
  readonly totals: Readonly<Partial<Record<Check, number>>>
  readonly open: Readonly<Partial<Record<Check, number>>>
  readonly samples: readonly PaceSample[]
  /** Milliseconds until the last task that waits for a time is due. */
  readonly waitMs: number
}

/**
 * Milliseconds until a batch is answered: checks run side by side, so the one that lasts longest tells. Each goes
 * on at the pace of the last third of the time, since what is quick, or known from before, is answered first and
 * a provider's limit shows when its addresses alone are left; where nothing is known of that, at the pace since
 * the start. What waits for a time is not answered before. Null where a check has no pace yet.
 */
export function timeLeftMs(seen: SeenBatch): number | null {
  let longest = 0
  for (const check of CHECKS) {
    const open = seen.open[check] ?? 0
    if (open === 0) continue
    const left = openMs(seen, check, open)
    if (left === null) return null
    longest = Math.max(longest, left)
  }
  return Math.max(longest, seen.waitMs)
}

function openMs(seen: SeenBatch, check: Check, open: number): number | null {
  const leastMs = Math.max(LEAST_SPACING_MS, seen.elapsedMs * LEAST_WINDOW)
  const [oldest] = seen.samples
  const spanMs = seen.nowMs - (oldest?.at ?? seen.nowMs)
  const answered = (oldest?.open[check] ?? 0) - open
  if (spanMs >= leastMs && answered > 0) return (open * spanMs) / answered
  const done = (seen.totals[check] ?? 0) - open
  return done <= 0 ? null : (open * seen.elapsedMs) / done
}
