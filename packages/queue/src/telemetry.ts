import { NO_TRACER, type Tracer } from '@plumbline/ports/tracer'
import type { Telemetry } from 'bullmq'

/** What BullMQ traces jobs with, as a part of its options; nothing where tracing is off. */
export async function telemetryOf(tracer: Tracer): Promise<{ readonly telemetry?: Telemetry }> {
  return tracer === NO_TRACER ? {} : { telemetry: await loadTelemetry() }
}

/**
 * Loads what traces jobs: a span for each adding and each job, the second within the first. What fails is
 * told by its class: a message may hold what was asked.
 * @throws Error if the package, which is optional, is not installed
 */
async function loadTelemetry(): Promise<Telemetry> {
  const { BullMQOtel } = await import('bullmq-otel')
  const { tracer, contextManager }: Telemetry = new BullMQOtel({ tracerName: 'plumbline' })
  return {
    contextManager,
    tracer: {
      startSpan(name, options, context) {
        const span = tracer.startSpan(name, options, context)
        span.recordException = (error) =>
          span.setAttribute('error.type', error instanceof Error ? error.constructor.name : 'Error')
        return span
      },
    },
  }
}
