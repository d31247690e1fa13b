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
   * A gauge that is read at each scrape. If reading fails, as while a server is down, this gauge
   * has no value and the others are unaffected.
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
      const gauge: Gauge = new Gauge({
        name,
        help,
        labelNames: [...labels],
        registers: [registry],
        collect: async () => {
          const values = await read().catch(() => [])
          gauge.reset()
          // A reset leaves a value of 0 for a metric without labels.
          if (labels.length === 0) gauge.remove()
          for (const { labels: at, value } of values) gauge.set(at, value)
        },
      })
    },
  }
}
