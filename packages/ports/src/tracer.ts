/** What is known of a span: ids, names of our own, counts; never a subject or a key. */
export type SpanFacts = Readonly<Record<string, string | number | boolean>>

/** A piece of work as it is told to whoever looks at traces. */
export interface NewSpan {
  /** Of few values: a route, a check. */
  readonly name: string
  /** `server` and `consumer` begin what another process asked for, `client` asks one. */
  readonly kind: 'server' | 'client' | 'consumer' | 'internal'
  readonly facts?: SpanFacts
}

/** Adds what becomes known of a span while its work goes on. */
export type NoteFacts = (facts: SpanFacts) => void

/**
 * Tells the operator what belongs together, over processes: a span for each piece of work, within the span
 * that its code runs in. Where tracing is off it does the work and nothing else.
 */
export interface Tracer {
  /** Does work as a span. What it throws is told by its class or code alone, and thrown on. */
  span<T>(span: NewSpan, work: (note: NoteFacts) => Promise<T>): Promise<T>
  /**
   * The span that the code runs in, for another process to go on with; undefined if there is none.
   * Source: W3C Trace Context, `traceparent`.
   */
  current(): string | undefined
  /** Does work as part of a span of another process; what is no `traceparent` is as undefined: of none. */
  within<T>(traceparent: string | undefined, work: () => T): T
}

const IGNORE: NoteFacts = () => undefined

/** Tracing that is off. */
export const NO_TRACER: Tracer = {
  span: (_, work) => work(IGNORE),
  current: () => undefined,
  within: (_, work) => work(),
}
