import {
  Queue,
  Worker,
  type BackendFactory,
  type IQueueBackend,
  type Job,
  type JobProgress,
  type Telemetry,
} from 'bullmq'
import type { Consumer, ConsumerOptions, JobData, JobState, Producer } from './backend.ts'
import type { QueueName } from './names.ts'

/** A connection to BullMQ's server, and the factory of BullMQ's backend for it. */
export interface BullConnection<Backend extends IQueueBackend, Connection> {
  readonly connection: Connection
  readonly prefix?: string
  readonly factory: BackendFactory<Backend, Connection>
  /** Traces jobs; absent if tracing is off. */
  readonly telemetry?: Telemetry
}

/** Jobs are deleted when they end: attempts and outcomes are in Postgres. */
const JOB_OPTIONS = { removeOnComplete: true, removeOnFail: true, attempts: 1 } as const

/**
 * Number of events stored for each queue, small since they are not read; BullMQ's default is
 * 10,000.
 */
const KEPT_EVENTS = 100

/** Opens the producer of a queue and waits until it is ready. */
export async function openProducer<Backend extends IQueueBackend, Connection>(
  name: QueueName,
  { factory, ...link }: BullConnection<Backend, Connection>,
  onError: (error: Error) => void,
): Promise<Producer> {
  const queue = new Queue<JobData, void, string, JobData, void, string, Backend, Connection>(
    name,
    { ...link, streams: { events: { maxLen: KEPT_EVENTS } } },
    factory,
  )
  queue.on('error', onError)
  await queue.waitUntilReady()
  return {
    async add(jobs) {
      const [first, ...more] = jobs.map(({ id, data }) => ({
        name,
        data,
        opts: { ...JOB_OPTIONS, jobId: id },
      }))
      if (first === undefined) return
      // On Postgres the statement for many takes ten times as long as the one for a single job.
      if (more.length === 0) await queue.add(first.name, first.data, first.opts)
      else await queue.addBulk([first, ...more])
    },
    state: async (id) => STATES[await queue.getJobState(id)] ?? 'lost',
    async remove(id) {
      await queue.remove(id)
    },
    async depth() {
      const counts = await queue.getJobCounts('waiting', 'active')
      return { waiting: counts['waiting'] ?? 0, active: counts['active'] ?? 0 }
    },
    [Symbol.asyncDispose]: () => queue.close(),
  }
}

const STATES: { readonly [state: string]: JobState } = {
  waiting: 'waiting',
  prioritized: 'waiting',
  delayed: 'waiting',
  active: 'active',
}

/**
 * Opens a consumer of a queue and waits until it is ready; it takes jobs at once.
 *
 * @param lookSeconds interval at which it polls without being notified of a job
 */
export async function openConsumer<Backend extends IQueueBackend, Connection>(
  { name, concurrency, lockMs, stalledMs, process, onError }: ConsumerOptions,
  { factory, ...link }: BullConnection<Backend, Connection>,
  lookSeconds: number,
): Promise<Consumer> {
  const maxActive = (): number => (typeof concurrency === 'number' ? concurrency : concurrency())
  // BullMQ passes a signal only to a function that declares all three parameters.
  async function run(
    job: Job<JobData, void>,
    _token?: string,
    signal?: AbortSignal,
  ): Promise<void> {
    const processing = process({ id: job.id ?? '', data: job.data, signal: signal ?? NEVER })
    worker.concurrency = maxActive()
    await processing
  }
  const worker = new Worker<JobData, void, string, Backend, JobProgress, Connection>(
    name,
    run,
    {
      ...link,
      // By default it would begin before its connection is ready, and if that fails poll without
      // end or pause.
      autorun: false,
      concurrency: maxActive(),
      lockDuration: lockMs,
      stalledInterval: stalledMs,
      // A job whose worker dies is delivered again without a limit; attempts are counted in Postgres.
      maxStalledCount: 1_000_000,
      removeOnComplete: { count: 0 },
      removeOnFail: { count: 0 },
      drainDelay: lookSeconds,
      runRetryDelay: 1_000,
    },
    factory,
  )
  worker.on('error', onError)
  worker.on('lockRenewalFailed', (ids) => {
    for (const id of ids) worker.cancelJob(id, 'the lock was lost')
  })
  try {
    await worker.waitUntilReady()
  } catch (error) {
    await worker.close()
    throw error
  }
  worker.run().catch(onError)
  return {
    abort: (reason) => worker.cancelAllJobs(reason),
    close: () => worker.close(),
  }
}

const NEVER = new AbortController().signal
