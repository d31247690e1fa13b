import { NO_TRACER, type Tracer } from '@plumbline/ports/tracer'
import type { Telemetry } from 'bullmq'

/** BullMQ options for tracing jobs; empty if tracing is off. */
export async function telemetryOf(tracer: Tracer): Promise<{ readonly telemetry?: Telemetry }> {
  return tracer === NO_TRACER ? {} : { telemetry: await loadTelemetry() }
}

/**
 * Loads the tracing package: a span for adding a job, and one for running it as its child. Errors
 * are recorded by their class, since a message may hold a subject.
 *
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
