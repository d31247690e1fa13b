import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'

/** The metrics of a program, in the Prometheus text format. */
export interface Metrics {
  readonly registry: Registry
  counter<L extends string>(name: string, help: string, labels: readonly L[]): Counter<L>
  histogram<L extends string>(
    name: string,
    help: string,
    labels: readonly L[],
    buckets: readonly number[],
  ): Histogram<L>
  /**
   * A gauge that is read at each scrape. If reading fails, or takes longer than three seconds, as
   * while a server is down or hangs, this gauge has no value and the others are unaffected.
   */
  observed(
    name: string,
    help: string,
    labels: readonly string[],
    read: () => Promise<readonly Observed[]>,
  ): void
}

/** One reading of a gauge. */
export interface Observed {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/**
 * Milliseconds that a scrape waits for a gauge: Prometheus gives up the whole scrape after ten
 * seconds by default, an export of OpenTelemetry after five.
 */
const READ_MS = 3_000

/** Creates a registry with the default metrics of the process. */
export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  return {
    registry,
    counter: (name, help, labels) =>
      new Counter({ name, help, labelNames: [...labels], registers: [registry] }),
    histogram: (name, help, labels, buckets) =>
      new Histogram({
        name,
        help,
        labelNames: [...labels],
        buckets: [...buckets],
        registers: [registry],
      }),
    observed: (name, help, labels, read) => {
      const readInTime = withinTime(read)
      const gauge: Gauge = new Gauge({
        name,
        help,
        labelNames: [...labels],
        registers: [registry],
        collect: async () => {
          const values = await readInTime()
          gauge.reset()
          // A reset leaves a value of 0 for a metric without labels.
          if (labels.length === 0) gauge.remove()
          for (const { labels: at, value } of values) gauge.set(at, value)
        },
      })
    },
  }
}

/** The reading; an empty one if it fails or is late. A late one goes on, and no other joins it. */
function withinTime(read: () => Promise<readonly Observed[]>): () => Promise<readonly Observed[]> {
  let reading: Promise<readonly Observed[]> | undefined
  return async () => {
    reading ??= read()
      .catch(() => [])
      .finally(() => (reading = undefined))
    const { promise: late, resolve } = Promise.withResolvers<readonly Observed[]>()
    const timer = setTimeout(resolve, READ_MS, [])
    const values = await Promise.race([reading, late])
    clearTimeout(timer)
    return values
  }
}
