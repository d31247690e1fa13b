import type { Log } from '@plumbline/ports/log'
import type { Tracer } from '@plumbline/ports/tracer'
import type { Registry } from 'prom-client'

/** What is told, and of which program. */
export interface TracedProgram {
  /** `api` or `worker`, told as `plumbline-api`. */
  readonly program: string
  /** Its metrics, which are sent every minute. */
  readonly registry: Registry
  readonly log: Log
}

/** Tracing of a program; disposing of it sends what is left, for a few seconds at most. */
export interface Tracing extends AsyncDisposable {
  readonly tracer: Tracer
}
