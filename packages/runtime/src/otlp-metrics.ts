import { ValueType, type HrTime } from '@opentelemetry/api'
import { millisToHrTime } from '@opentelemetry/core'
import type { Resource } from '@opentelemetry/resources'
import {
  AggregationTemporality,
  DataPointType,
  type CollectionResult,
  type DataPoint,
  type Histogram,
  type MetricData,
} from '@opentelemetry/sdk-metrics'
import type { MetricObjectWithValues, MetricValue, Registry } from 'prom-client'

/** A value as prom-client reports it; a histogram's values name their series. */
type SeriesValue = MetricValue<string> & { readonly metricName?: string }

/** The time range of a metric's count. */
interface Span {
  readonly startTime: HrTime
  readonly endTime: HrTime
}

/** When the process began to count, in milliseconds since the Unix epoch. */
const STARTED_MS = Date.now() - process.uptime() * 1_000

/**
 * Reads all metrics of a program in the form of OpenTelemetry, with the same values as `/metrics`.
 */
export async function readRegistry(
  registry: Registry,
  resource: Resource,
): Promise<CollectionResult> {
  const span = { startTime: millisToHrTime(STARTED_MS), endTime: millisToHrTime(Date.now()) }
  const metrics: MetricData[] = []
  for (const metric of await registry.getMetricsAsJSON()) {
    const data = convert(metric, span)
    if (data !== null) metrics.push(data)
  }
  const scopeMetrics = [{ scope: { name: 'plumbline' }, metrics }]
  return { resourceMetrics: { resource, scopeMetrics }, errors: [] }
}

/** Null for a summary, which has no counterpart that can be added up; none is in use. */
function convert(
  metric: MetricObjectWithValues<MetricValue<string>>,
  span: Span,
): MetricData | null {
  const { name, help } = metric
  const descriptor = { name, description: help, unit: '', valueType: ValueType.DOUBLE }
  const aggregationTemporality = AggregationTemporality.CUMULATIVE
  const common = { descriptor, aggregationTemporality }
  switch (metric.type.toString()) {
    case 'counter': {
      const dataPoints = pointsOf(metric, span)
      return { ...common, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints }
    }
    case 'gauge': {
      const dataPoints = pointsOf(metric, span)
      return { ...common, dataPointType: DataPointType.GAUGE, dataPoints }
    }
    case 'histogram': {
      const dataPoints = histogramPoints(metric.values, span)
      return { ...common, dataPointType: DataPointType.HISTOGRAM, dataPoints }
    }
    default:
      return null
  }
}

/**
 * Without what is no number, such as the mean of nothing or an endless age: in JSON it would be null,
 * for which a receiver refuses the whole message.
 */
function pointsOf(
  { values }: MetricObjectWithValues<MetricValue<string>>,
  span: Span,
): DataPoint<number>[] {
  return values
    .filter(({ value }) => Number.isFinite(value))
    .map(({ labels, value }) => ({ ...span, attributes: attributesOf(labels), value }))
}

function attributesOf(labels: SeriesValue['labels']): Readonly<Record<string, string>> {
  const named = Object.entries(labels).filter(([name]) => name !== 'le')
  return Object.fromEntries(named.map(([name, value]) => [name, String(value)]))
}

/** Buckets of Prometheus are cumulative, those of OpenTelemetry are not. */
function histogramPoints(values: readonly SeriesValue[], span: Span): DataPoint<Histogram>[] {
  const series = Map.groupBy(values, ({ labels }) => JSON.stringify(attributesOf(labels)))
  return [...series.values()].map((told) => {
    const buckets = told.filter(({ labels }) => labels['le'] !== undefined)
    const boundaries = buckets.map(({ labels }) => Number(labels['le'])).filter(Number.isFinite)
    const counts = buckets.map(({ value }, at) => value - (buckets[at - 1]?.value ?? 0))
    const of = (ending: string): number =>
      told.find(({ metricName }) => metricName?.endsWith(ending) === true)?.value ?? 0
    return {
      ...span,
      attributes: attributesOf(told[0]?.labels ?? {}),
      value: { buckets: { boundaries, counts }, sum: of('_sum'), count: of('_count') },
    }
  })
}
