import type { Tracer } from '@plumbline/ports/tracer'
import type { Channel, ReplyChannel } from '@plumbline/ports/channel'
import type { ServerClock } from './clock.ts'
import type { QueueName } from './names.ts'
import type { RedisServer } from './redis.ts'

/** The queues of a process, on Redis or Postgres, and the channel of live replies; opened once. */
export interface QueueBackend extends AsyncDisposable {
  readonly kind: 'redis' | 'postgres'
  /** The server for `Memory` and `Limiter`; null on Postgres. */
  readonly redis: RedisServer | null
  readonly channel: Channel
  readonly replyChannel: ReplyChannel
  readonly clock: ServerClock
  /** The tracer of the process: a question carries its caller's trace. */
  readonly tracer: Tracer
  /** Bytes received from the server, where they are counted. */
  readonly receivedBytes?: () => number
  /** Throws if the server does not reply within the connection time-out. */
  ping(): Promise<void>
  /**
   * Adds jobs to a queue; opened on first use and shared. Rejects if the server does not reply within
   * the time of a command; the opening goes on.
   */
  producer(name: QueueName): Promise<Producer>
  /** Takes jobs from a queue; its owner closes it. */
  consumer(options: ConsumerOptions): Promise<Consumer>
}

/**
 * Plain data of a job: for batches the id of a task or batch and the number of its lease, since the
 * records stay in Postgres; for single calls the questions themselves.
 */
export type JobData = { readonly [key: string]: unknown }

/** A job to add; its id consists of letters, digits and `-`, not of digits alone. */
export interface NewJob {
  readonly id: string
  readonly data: JobData
}

/** A job that a worker has taken. */
export interface Job extends NewJob {
  /**
   * Aborted when the job's lock is lost, so that another worker may have the job, and when the
   * worker must stop.
   */
  readonly signal: AbortSignal
}

/** State of a job; `lost` if the queue does not know it. */
export type JobState = 'waiting' | 'active' | 'lost'

/** Adds jobs to a queue. */
export interface Producer extends AsyncDisposable {
  /** Adds them all in one step; a job whose id is still in the queue is not added again. */
  add(jobs: readonly NewJob[]): Promise<void>
  state(id: string): Promise<JobState>
  /** Removes a waiting job; an active one stays. */
  remove(id: string): Promise<void>
  depth(): Promise<QueueDepth>
}

/** Number of waiting and active jobs of a queue. */
export interface QueueDepth {
  readonly waiting: number
  readonly active: number
}

/** Options of a consumer. */
export interface ConsumerOptions {
  readonly name: QueueName
  /** Maximum number of active jobs; a function is called whenever a job has begun. */
  readonly concurrency: number | (() => number)
  /**
   * Milliseconds after which a lock that was not renewed expires, and the job is given to another
   * worker; renewed at half of it.
   */
  readonly lockMs: number
  /**
   * Milliseconds between two searches for jobs without a lock, by all consumers of the queue
   * together; a job that two in a row find is given to another worker.
   */
  readonly stalledMs: number
  /** Must not throw. */
  readonly process: (job: Job) => Promise<void>
  readonly onError: (error: Error) => void
}

/** Takes jobs from a queue. */
export interface Consumer {
  /** Aborts the signals of all jobs under way. */
  abort(reason: string): void
  /** Takes no new job and resolves when the active ones have ended. */
  close(): Promise<void>
}
