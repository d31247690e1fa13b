/** A program that runs as several equal pods. */
export interface Program {
  readonly name: string
  readonly command: readonly string[]
  /** Number of pods: minimum and maximum. */
  readonly pods: { readonly least: number; readonly most: number }
  /** Whether the program connects to the internet, as engines do, and the batch worker for webhooks. */
  readonly asksOutside: boolean
  /** For a worker with an engine: the `check` of its metrics. */
  readonly check?: string
  /** Requested processor time. */
  readonly cpu: string
  /** Disk space on the node for uploads and results that are being written. */
  readonly scratch: string
  /**
   * Seconds that a stop waits for work in progress, and before that for clients to be routed
   * elsewhere.
   */
  readonly drainSeconds: number
  readonly stopDelaySeconds: number
}

const WORKER = ['node', 'services/worker/src/main.ts']

/** The API, which only connects to the stores. */
export const API: Program = {
  name: 'api',
  command: ['node', 'services/api/src/main.ts'],
  pods: { least: 2, most: 6 },
  asksOutside: false,
  cpu: '500m',
  scratch: '8Gi',
  drainSeconds: 25,
  // Proxies learn with a delay that a pod is no longer ready.
  stopDelaySeconds: 5,
}

/** Workers with an engine: two of each, so that one can be replaced. */
const CHECK_WORKERS: readonly Program[] = ['email', 'phone', 'ip', 'domain'].map((check) => ({
  name: `worker-${check}`,
  command: [...WORKER, check],
  pods: { least: 2, most: check === 'email' || check === 'domain' ? 8 : 4 },
  asksOutside: true,
  check,
  cpu: '250m',
  scratch: '1Gi',
  drainSeconds: 20,
  stopDelaySeconds: 0,
}))

/** Reads uploads, dispatches tasks, writes results, sends webhooks. */
const BATCH_WORKER: Program = {
  name: 'worker-batch',
  command: [...WORKER, 'batch'],
  pods: { least: 2, most: 2 },
  asksOutside: true,
  cpu: '500m',
  scratch: '8Gi',
  drainSeconds: 20,
  stopDelaySeconds: 0,
}

/** Every long-running program. */
export const PROGRAMS: readonly Program[] = [API, ...CHECK_WORKERS, BATCH_WORKER]

/** The migration, which runs once for each version. */
export const MIGRATION = [...WORKER, 'migrate']

/** Fetches the reference lists. */
export const DATA_UPDATE = ['node', 'services/cli/src/main.ts', 'data', 'update']
