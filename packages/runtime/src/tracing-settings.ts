import { z } from 'zod'

/** Settings of traces and of pushed metrics. Documented in docs/settings.md. */
export const tracingSettings = {
  /**
   * Where traces and metrics are sent, by OTLP over HTTP; unset: nowhere, and no package is loaded.
   */
  OTEL_EXPORTER_OTLP_ENDPOINT: z
    .url({ protocol: /^https?$/, error: 'expected an http:// or https:// address' })
    .optional(),
  /** Headers of these requests: `name=value`, comma-separated. */
  OTEL_EXPORTER_OTLP_HEADERS: z.string().transform(readHeaders).optional(),
  /** Share of the traces that are sent, chosen by trace id: all processes send the same ones. */
  OTEL_TRACES_SAMPLER_ARG: z
    .string()
    .regex(/^(?:0(?:\.\d+)?|1(?:\.0+)?)$/, 'expected a number from 0 to 1')
    .transform(Number)
    .default(1),
}

/**
 * Source: OpenTelemetry, "Configuration Options", `OTEL_EXPORTER_OTLP_HEADERS`: as W3C Baggage,
 * percent-encoded.
 */
function readHeaders(text: string, context: z.RefinementCtx): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {}
  for (const pair of text.split(',')) {
    const [, name = '', value = ''] = /^\s*([!#$%&'*+.^_`|~\w-]+)\s*=\s*(.*?)\s*$/.exec(pair) ?? []
    const plain = decoded(value)
    if (name === '' || plain === null) {
      context.addIssue('expected name=value, comma-separated')
      return z.NEVER
    }
    headers[name] = plain
  }
  return headers
}

function decoded(value: string): string | null {
  try {
    return decodeURIComponent(value)
  } catch {
    return null
  }
}
