import { NO_TRACER } from '@plumbline/ports/tracer'
import { hasCode } from './error-code.ts'
import type { TracedProgram, Tracing } from './traced-program.ts'

/** Settings of a program's traces and metrics. */
export interface TracingSettings {
  readonly OTEL_EXPORTER_OTLP_ENDPOINT?: string | undefined
  readonly OTEL_EXPORTER_OTLP_HEADERS?: Readonly<Record<string, string>> | undefined
  readonly OTEL_TRACES_SAMPLER_ARG: number
}

/** Error message if the packages are missing. */
const MISSING =
  'OTEL_EXPORTER_OTLP_ENDPOINT is set, and OpenTelemetry is not installed here: ' +
  'run "npm install" in the folder of the service without --omit=optional'

/**
 * Starts sending traces and metrics by OTLP if an endpoint is set; else loads and does nothing.
 *
 * @throws Error if the packages of OpenTelemetry, which are optional, are not installed
 */
export async function openTracing(
  settings: TracingSettings,
  program: TracedProgram,
): Promise<Tracing> {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint } = settings
  if (endpoint === undefined) return { tracer: NO_TRACER, [Symbol.asyncDispose]: async () => {} }
  try {
    const { openOpenTelemetry } = await import('./opentelemetry.ts')
    const { OTEL_EXPORTER_OTLP_HEADERS: headers = {}, OTEL_TRACES_SAMPLER_ARG: share } = settings
    return openOpenTelemetry({ ...program, endpoint, headers, share })
  } catch (cause) {
    throw hasCode(cause, 'ERR_MODULE_NOT_FOUND') ? new Error(MISSING, { cause }) : cause
  }
}
