/** A program that runs as a number of equal pods. */
export interface Program {
  readonly name: string
  readonly command: readonly string[]
  /** Pods: while there is little to do, and at most. */
  readonly pods: { readonly least: number; readonly most: number }
  /**
   * Whether it asks the internet: engines do, and messages to webhooks go out by the worker of
   * batches.
   */
  readonly asksOutside: boolean
  /** Of a worker that answers lookups of one kind: the `check` of its metrics. */
  readonly check?: string
  /** Processor time that it is given when others want it, too. */
  readonly cpu: string
  /** Room on its machine's disk for uploads on their way in and results in the making. */
  readonly scratch: string
  /** How long a stop waits for what is under way, and before that for callers to go elsewhere. */
  readonly drainSeconds: number
  readonly stopDelaySeconds: number
}

const WORKER = ['node', 'services/worker/src/main.ts']

/** The API: it asks stores alone. */
export const API: Program = {
  name: 'api',
  command: ['node', 'services/api/src/main.ts'],
  pods: { least: 2, most: 6 },
  asksOutside: false,
  cpu: '500m',
  scratch: '8Gi',
  drainSeconds: 25,
  // Proxies hear late that a pod is not ready any more.
  stopDelaySeconds: 5,
}

/** Workers that have an engine: two of each, so that one may be replaced. */
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

/** Reads uploads, hands out tasks, writes results, sends messages to webhooks. */
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

/** Every program that stays. */
export const PROGRAMS: readonly Program[] = [API, ...CHECK_WORKERS, BATCH_WORKER]

/** The migration, which is run once for each version. */
export const MIGRATION = [...WORKER, 'migrate']

/** Fetches the reference lists. */
export const DATA_UPDATE = ['node', 'services/cli/src/main.ts', 'data', 'update']
