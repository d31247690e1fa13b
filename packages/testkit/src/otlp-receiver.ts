import { startReceiver } from './webhook-receiver.ts'

/** A received span. */
export interface ReceivedSpan {
  /** `service.name` of the sender. */
  readonly service: string
  readonly traceId: string
  readonly spanId: string
  /** Empty for the first span of a trace. */
  readonly parentSpanId: string
  readonly name: string
  readonly facts: Readonly<Record<string, unknown>>
}

/** A receiver of OTLP over HTTP, as JSON, on loopback. */
export interface OtlpReceiver extends AsyncDisposable {
  readonly url: string
  /** Everything received, unchanged: headers and bodies. */
  texts(): readonly string[]
  spans(): readonly ReceivedSpan[]
  /** Names of the metrics that a service has sent. */
  metricsOf(service: string): ReadonlySet<string>
}

interface Resource {
  readonly attributes: readonly { readonly key: string; readonly value: object }[]
}

interface Span extends Resource {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
}

interface Message {
  readonly resourceSpans?: readonly {
    readonly resource: Resource
    readonly scopeSpans: readonly { readonly spans: readonly Span[] }[]
  }[]
  readonly resourceMetrics?: readonly {
    readonly resource: Resource
    readonly scopeMetrics: readonly { readonly metrics: readonly { readonly name: string }[] }[]
  }[]
}

/** Starts a receiver. */
export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const receiver = await startReceiver()
  // Safe because it is in the documented form of OTLP; a test compares what it reads of it.
  const messages = (): readonly Message[] =>
    receiver.received.map(({ body }) => JSON.parse(body) as Message)
  return {
    url: receiver.url,
    texts: () =>
      receiver.received.map(
        ({ path, headers, body }) => `${path} ${JSON.stringify(headers)} ${body}`,
      ),
    spans: () =>
      messages().flatMap(({ resourceSpans = [] }) =>
        resourceSpans.flatMap(({ resource, scopeSpans }) => {
          const service = String(factsOf(resource)['service.name'])
          return scopeSpans.flatMap(({ spans }) =>
            spans.map((span) => ({
              service,
              traceId: span.traceId,
              spanId: span.spanId,
              parentSpanId: span.parentSpanId ?? '',
              name: span.name,
              facts: factsOf(span),
            })),
          )
        }),
      ),
    metricsOf: (service) =>
      new Set(
        messages()
          .flatMap(({ resourceMetrics = [] }) => resourceMetrics)
          .filter(({ resource }) => factsOf(resource)['service.name'] === service)
          .flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics))
          .map(({ name }) => name),
      ),
    [Symbol.asyncDispose]: () => receiver[Symbol.asyncDispose](),
  }
}

/** The attributes by name; in OTLP a value is an object with the name of its type as key. */
function factsOf({ attributes }: Resource): Readonly<Record<string, unknown>> {
  const named = attributes.map(({ key, value }): [string, unknown] => [
    key,
    // Safe because any value may be unknown.
    (Object.values(value) as unknown[])[0],
  ])
  return Object.fromEntries(named)
}
