import type { Tracer } from '@plumbline/ports/tracer'
import type { Channel, ReplyChannel } from '@plumbline/ports/channel'
import type { ServerClock } from './clock.ts'
import type { QueueName } from './names.ts'
import type { RedisServer } from './redis.ts'

/** The queues of a process, on Redis or on Postgres, and what live replies come by; opened once. */
export interface QueueBackend extends AsyncDisposable {
  readonly kind: 'redis' | 'postgres'
  /** The server for `Memory` and `Limiter`; null on Postgres. */
  readonly redis: RedisServer | null
  readonly channel: Channel
  readonly replyChannel: ReplyChannel
  readonly clock: ServerClock
  /** Of the process: a question takes its caller's trace along. */
  readonly tracer: Tracer
  /** Throws when the server does not answer within the time that connecting may take. */
  ping(): Promise<void>
  /** Adds to a queue; opened with its first use and shared. */
  producer(name: QueueName): Promise<Producer>
  /** Takes from a queue; closed by its owner. */
  consumer(options: ConsumerOptions): Promise<Consumer>
}

/**
 * Plain data of a job. For a batch it is the id of a task or a batch and the number of its lease, and the
 * records stay in Postgres; for single calls it is the questions themselves.
 */
export type JobData = { readonly [key: string]: unknown }

/** A job to be added; its id is made of letters, digits and `-`, and not of digits alone. */
export interface NewJob {
  readonly id: string
  readonly data: JobData
}

/** A job that a worker has taken. */
export interface Job extends NewJob {
  /** Aborted when the lock was lost, so another may have the job, and when the worker must end. */
  readonly signal: AbortSignal
}

/** Where a job is: `lost` where the queue knows nothing of it. */
export type JobState = 'waiting' | 'active' | 'lost'

/** Adds jobs to a queue. */
export interface Producer extends AsyncDisposable {
  /** Adds them all in one step; an id that is still in the queue is left as it is. */
  add(jobs: readonly NewJob[]): Promise<void>
  state(id: string): Promise<JobState>
  /** Takes a job out that waits; one that is worked on stays. */
  remove(id: string): Promise<void>
  depth(): Promise<QueueDepth>
}

/** How many jobs wait, and how many are being worked on. */
export interface QueueDepth {
  readonly waiting: number
  readonly active: number
}

/** How jobs are taken. */
export interface ConsumerOptions {
  readonly name: QueueName
  /** Jobs under way together. */
  readonly concurrency: number
  /** A job is handed to another worker when its lock was not renewed for so long; renewed at half of it. */
  readonly lockMs: number
  /** Must not throw. */
  readonly process: (job: Job) => Promise<void>
  readonly onError: (error: Error) => void
}

/** Takes jobs from a queue. */
export interface Consumer {
  /** Aborts the signals of all jobs under way. */
  abort(reason: string): void
  /** Takes no new job and resolves when those under way have ended. */
  close(): Promise<void>
}
