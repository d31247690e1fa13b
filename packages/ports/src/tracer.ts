/** Attributes of a span: ids, names from our own code, counts; never a subject or a key. */
export type SpanFacts = Readonly<Record<string, string | number | boolean>>

/** A span to create. */
export interface NewSpan {
  /** Of low cardinality: a route, a check. */
  readonly name: string
  /** `server` and `consumer` handle what another process asked for, `client` asks one. */
  readonly kind: 'server' | 'client' | 'consumer' | 'internal'
  readonly facts?: SpanFacts
}

/** Adds attributes to a span while its work is running. */
export type NoteFacts = (facts: SpanFacts) => void

/**
 * Distributed tracing: a span for each piece of work, nested in the current span. If tracing is
 * off, it only does the work.
 */
export interface Tracer {
  /** Does work within a span. An error is recorded by its class or code only, and rethrown. */
  span<T>(span: NewSpan, work: (note: NoteFacts) => Promise<T>): Promise<T>
  /**
   * The current span, to be continued in another process; undefined if there is none. Source: W3C
   * Trace Context, `traceparent`.
   */
  current(): string | undefined
  /** Does work within a span of another process; an invalid `traceparent` counts as none. */
  within<T>(traceparent: string | undefined, work: () => T): T
}

const IGNORE: NoteFacts = () => undefined

/** Tracing that is off. */
export const NO_TRACER: Tracer = {
  span: (_, work) => work(IGNORE),
  current: () => undefined,
  within: (_, work) => work(),
}
