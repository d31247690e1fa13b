import { CHECKS, type Check } from '@plumbline/contract/products'
import type { OpenGroup, OpenSubjects, PaceSample } from '@plumbline/db/tables/batches'

/**
 * Samples of a batch's pace that are kept, and their minimum distance as a share of the batch's
 * running time.
 */
const MOST_SAMPLES = 12
const SPACING = 0.03
/** Minimum distance of two samples in milliseconds: as often as workers save. */
export const LEAST_SPACING_MS = 5_000

/**
 * Minimum window of a pace, as a share of the batch's running time: a save stores outcomes that
 * took longer.
 */
const LEAST_WINDOW = 0.1
/**
 * Outcomes that a pace must be measured by, as a share of the open subjects, for subjects that wait
 * for no provider.
 */
const LEAST_SHARE = 0.05

/**
 * Adds a sample and drops the oldest: they cover the last third of a batch's running time.
 *
 * @returns null if the last one is too recent
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

/** The state of a running batch. */
export interface SeenBatch extends OpenSubjects {
  /** Milliseconds that it has been running, pauses left out. */
  readonly elapsedMs: number
  readonly nowMs: number
  /** Subjects by check. */
  readonly totals: Readonly<Partial<Record<Check, number>>>
  readonly samples: readonly PaceSample[]
  /** Milliseconds until the last task that waits for a time is due. */
  readonly waitMs: number
}

/**
 * Estimated milliseconds until a batch is complete. Checks run in parallel, and so do the groups of
 * a check, so the slowest one counts. Each is assumed to continue at the pace of the last third of
 * the running time, since fast and cached subjects come first and a provider's limit shows at the
 * end; without such a pace, at the average pace since the start. Subjects that wait for a time are
 * not done before it. Null if a check has no pace yet.
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
  const done = (seen.totals[check] ?? 0) - open
  const doneBy = (sample: PaceSample): number => done + open - (sample.open[check] ?? 0)
  const pace = paceOf(seen, done, doneBy)
  if (pace === null) return null
  const groups = seen.groups.filter((group) => group.check === check)
  const waiting = sumOf(groups, (group) => group.open)
  const apart: OpenGroup[] = []
  let longest = 0
  let restOpen = open
  for (const group of groups) {
    const ownPace = paceOf(seen, group.answered, (sample) => answeredIn(sample, group))
    if (ownPace === null) continue
    // Of the subjects not yet passed to the engine, the same share will wait for the group.
    const share = Math.min(1, (group.open + group.answered) / Math.max(1, done + waiting))
    const left = group.open + share * (open - waiting)
    longest = Math.max(longest, left / ownPace)
    restOpen -= left
    apart.push(group)
  }
  if (restOpen <= 0) return longest
  const rest = done - sumOf(apart, ({ answered }) => answered)
  const restBy = (sample: PaceSample): number =>
    doneBy(sample) - sumOf(apart, (group) => answeredIn(sample, group) ?? 0)
  const restPace = paceOf(seen, rest, restBy, LEAST_SHARE * restOpen) ?? pace
  return Math.max(longest, restOpen / restPace)
}

/**
 * Subjects per millisecond; null if it cannot be computed.
 *
 * @param answeredBy number of answers when a sample was taken; undefined if not recorded
 * @param least minimum number of answers since the oldest sample
 */
function paceOf(
  seen: SeenBatch,
  answered: number,
  answeredBy: (sample: PaceSample) => number | undefined,
  least = 0,
): number | null {
  const leastMs = Math.max(LEAST_SPACING_MS, seen.elapsedMs * LEAST_WINDOW)
  for (const sample of seen.samples) {
    const before = answeredBy(sample)
    if (before === undefined) continue
    const spanMs = seen.nowMs - sample.at
    const came = answered - before
    if (spanMs >= leastMs && came > 0 && came >= least) return came / spanMs
    break
  }
  return answered <= 0 || seen.elapsedMs <= 0 ? null : answered / seen.elapsedMs
}

function answeredIn(sample: PaceSample, { check, key }: OpenGroup): number | undefined {
  return sample.groups?.find((group) => group.check === check && group.key === key)?.answered
}

function sumOf(groups: readonly OpenGroup[], count: (group: OpenGroup) => number): number {
  return groups.reduce((sum, group) => sum + count(group), 0)
}
