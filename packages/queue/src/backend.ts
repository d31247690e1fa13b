import type { Channel, ReplyChannel } from '@plumbline/ports/channel'
import type { ServerClock } from './clock.ts'
import type { QueueName } from './names.ts'
import type { RedisServer } from './redis.ts'

/** What jobs travel through, on Redis or on Postgres; opened once in a process. */
export interface QueueBackend extends AsyncDisposable {
  readonly kind: 'redis' | 'postgres'
  /** The server for `Memory` and `Limiter`; null on Postgres. */
  readonly redis: RedisServer | null
  readonly channel: Channel
  readonly replyChannel: ReplyChannel
  readonly clock: ServerClock
  /** Asks the server for a sign of life; throws without one within the time that connecting may take. */
  ping(): Promise<void>
  /** The side that adds; opened with its first use and shared. */
  producer(name: QueueName): Promise<Producer>
  /** The side that works; closed by its owner. */
  consumer(options: ConsumerOptions): Promise<Consumer>
}

/** Plain data of a job: the ids of what a list asks for, and what single calls ask itself. */
export type JobData = { readonly [key: string]: unknown }

/** What there is of a job: `lost` where the queue knows nothing of it. */
export type JobState = 'waiting' | 'active' | 'lost'

/** Adds jobs to a queue. */
export interface Producer extends AsyncDisposable {
  /** Adds them all in one step; an id that is still in the queue is left as it is. */
  add(jobs: readonly { readonly id: string; readonly data: JobData }[]): Promise<void>
  state(id: string): Promise<JobState>
  depth(): Promise<QueueDepth>
}

/** Jobs that wait, and jobs that are being worked on. */
export interface QueueDepth {
  readonly waiting: number
  readonly active: number
}

/** How jobs are taken. */
export interface ConsumerOptions {
  readonly name: QueueName
  /** Jobs under way together. */
  readonly concurrency: number
  /** How long a worker's death goes unnoticed; renewed at half of it. */
  readonly lockMs: number
  readonly process: (id: string, data: JobData, signal: AbortSignal) => Promise<void>
  readonly onError: (error: Error) => void
}

/** Takes jobs from a queue. */
export interface Consumer {
  /** Aborts the signals of all jobs under way. */
  abort(reason: string): void
  /** Takes no new job and resolves when those under way have ended. */
  close(): Promise<void>
}
