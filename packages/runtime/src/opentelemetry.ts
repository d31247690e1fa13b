import { setTimeout as wait } from 'node:timers/promises'
import {
  context,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer as OtelTracer,
} from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { setGlobalErrorHandler, W3CTraceContextPropagator } from '@opentelemetry/core'
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes, type Resource } from '@opentelemetry/resources'
import { PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import type { Log } from '@plumbline/ports/log'
import type { NewSpan, Tracer } from '@plumbline/ports/tracer'
import { codeOf } from './error-code.ts'
import { readRegistry } from './otlp-metrics.ts'
import { sampleTraces } from './trace-sampler.ts'
import type { TracedProgram, Tracing } from './traced-program.ts'

// Loaded only if an endpoint is set, since its packages are optional.

/** Destination of traces and metrics, and the sampled share. */
interface Destination extends TracedProgram {
  readonly endpoint: string
  readonly headers: Readonly<Record<string, string>>
  /** Share of the traces that are sent, 0 to 1. */
  readonly share: number
}

/** Time-out of one export, and of all together when the program ends, in milliseconds. */
const SEND_MS = 5_000
const CLOSE_MS = 5_000

/**
 * Maximum number of spans that wait for export; further ones are dropped, so that an unreachable
 * receiver costs no memory.
 */
const MAX_SPANS = 4_096

/** Milliseconds between two exports of metrics. */
const METRICS_MS = 60_000

/** Milliseconds between two log messages about an unreachable receiver. */
const COMPLAIN_MS = 60_000

/** Registers OpenTelemetry for the whole process, as BullMQ's integration expects it. */
export function openOpenTelemetry(to: Destination): Tracing {
  const resource = resourceFromAttributes({
    'service.name': `plumbline-${to.program}`,
    'service.instance.id': to.instance,
  })
  setGlobalErrorHandler(warnAtIntervals(to.log))
  const { endpoint, headers } = to
  const sendingTo = (path: string) => ({
    url: `${endpoint.replace(/\/+$/, '')}${path}`,
    headers: { ...headers },
    timeoutMillis: SEND_MS,
  })
  const spans = new TracerProvider({
    resource,
    sampler: sampleTraces(to.share),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: new OTLPTraceExporter(sendingTo('/v1/traces')),
        maxQueueSize: MAX_SPANS,
        exportTimeoutMillis: SEND_MS,
      }),
    ],
  })
  const metrics = sendMetrics(to, resource, new OTLPMetricExporter(sendingTo('/v1/metrics')))
  trace.setGlobalTracerProvider(spans)
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  propagation.setGlobalPropagator(new W3CTraceContextPropagator())
  return {
    tracer: asTracer(spans.getTracer('plumbline')),
    async [Symbol.asyncDispose]() {
      const sent = Promise.allSettled([spans.shutdown(), metrics.shutdown()])
      await Promise.race([sent, wait(CLOSE_MS, undefined, { ref: false })])
      trace.disable()
      context.disable()
      propagation.disable()
    },
  }
}

function sendMetrics(
  { registry }: TracedProgram,
  resource: Resource,
  exporter: OTLPMetricExporter,
): PeriodicExportingMetricReader {
  const reader = new PeriodicExportingMetricReader({
    exporter,
    exportIntervalMillis: METRICS_MS,
    exportTimeoutMillis: SEND_MS,
  })
  reader.setMetricProducer({ collect: () => readRegistry(registry, resource) })
  return reader
}

const KINDS = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  consumer: SpanKind.CONSUMER,
  internal: SpanKind.INTERNAL,
} as const satisfies Record<NewSpan['kind'], SpanKind>

function asTracer(tracer: OtelTracer): Tracer {
  return {
    span: async ({ name, kind, facts = {} }, work) =>
      await tracer.startActiveSpan(
        name,
        { kind: KINDS[kind], attributes: { ...facts } },
        async (span) => {
          try {
            return await work((more) => span.setAttributes({ ...more }))
          } catch (error) {
            span.setAttribute('error.type', wordFor(error))
            if (!isRefusal(error)) span.setStatus({ code: SpanStatusCode.ERROR })
            throw error
          } finally {
            span.end()
          }
        },
      ),
    current() {
      const carrier: Record<string, string> = {}
      propagation.inject(context.active(), carrier)
      return carrier['traceparent']
    },
    within(traceparent, work) {
      const carrier = traceparent === undefined ? {} : { traceparent }
      return context.with(propagation.extract(ROOT_CONTEXT, carrier), work)
    },
  }
}

/** An error's code or class, since messages may contain subjects. */
function wordFor(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  const code = codeOf(error)
  return code !== undefined && /^\w{1,40}$/.test(code) ? code : error.constructor.name
}

/** Whether the caller is at fault, not the service. */
function isRefusal(error: unknown): boolean {
  return (
    error instanceof Error &&
    'status' in error &&
    typeof error.status === 'number' &&
    error.status < 500
  )
}

function warnAtIntervals(log: Log): (error: unknown) => void {
  let lastMs = Number.NEGATIVE_INFINITY
  return (error) => {
    if (performance.now() - lastMs < COMPLAIN_MS) return
    lastMs = performance.now()
    log.warn({ err: error }, 'traces or metrics could not be sent')
  }
}
