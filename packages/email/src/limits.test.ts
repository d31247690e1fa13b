import { expect, test } from 'vitest'
import { DEFAULT_LIMITS, limitsOf } from './limits.ts'
import { ORDINARY_PROVIDER } from './providers.ts'
import { processLimiter } from './smtp-fixture.ts'

test.each([1, 2, 7, 60, 120, 601])(
  'at most %d recipients are sent in any minute, even if some are sent late',
  async (recipientsPerMinute) => {
    const limits = { ...DEFAULT_LIMITS, recipientsPerMinute }
    const { bucket, sendWithinMs } = limitsOf(limits, 'a.test', ORDINARY_PROVIDER)
    let nowMs = 0
    const limiter = processLimiter(() => nowMs)
    const granted: number[] = []
    for (; nowMs < 200_000; nowMs += 10) {
      while ((await limiter.take('a', 1, bucket)).granted) granted.push(nowMs)
    }
    // The worst case: what was granted before a moment is named at that moment, the rest at once.
    const most = granted.map(
      (fromMs) =>
        granted.filter((atMs) => atMs >= fromMs && atMs < fromMs + sendWithinMs + 60_000).length,
    )
    expect(Math.max(...most)).toBeLessThanOrEqual(recipientsPerMinute)
    expect(Math.max(...most)).toBeGreaterThanOrEqual(Math.floor(recipientsPerMinute * 0.9))
  },
)
