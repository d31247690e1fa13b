import type { Log } from '@plumbline/ports/log'
import type { Tracer } from '@plumbline/ports/tracer'
import type { Registry } from 'prom-client'

/** The program whose traces and metrics are sent. */
export interface TracedProgram {
  /** `api` or `worker`, sent as `plumbline-api`. */
  readonly program: string
  /** The name of this run of it, sent as `service.instance.id`. */
  readonly instance: string
  /** Its metrics, which are sent every minute. */
  readonly registry: Registry
  readonly log: Log
}

/** Tracing of a program; disposing of it sends the remaining spans, for a few seconds at most. */
export interface Tracing extends AsyncDisposable {
  readonly tracer: Tracer
}
