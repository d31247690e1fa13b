import { openSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { serve as serveApi } from '@plumbline/api/serve'
import { apiSettings } from '@plumbline/api/settings'
import { CHECKS } from '@plumbline/contract/products'
import type { QueueBackend } from '@plumbline/queue/backend'
import { createLog } from '@plumbline/runtime/log'
import { readSettings } from '@plumbline/runtime/settings'
import type { Storage } from '@plumbline/storage/storage'
import { instantEngine } from '@plumbline/testkit/instant-engines'
import { openContext, type WorkerContext } from '@plumbline/worker/context'
import { serve as serveWorker } from '@plumbline/worker/serve'
import { workerSettings } from '@plumbline/worker/settings'
import { POISON } from './batch-rows.ts'
import type { MemberName } from './plan-faults.ts'
import type { Plan } from './plan.ts'
import type { ServerSessions } from './server-sessions.ts'
import { waitRealTime, type Owner, type VirtualTime } from './virtual-time.ts'
import type { InjectedFault } from './connection-fault.ts'
import { openFaultProxy, type FaultProxy } from './fault-proxy.ts'

/** Servers, clock and folders for the processes of a simulated service. */
export interface MemberSetup {
  readonly plan: Plan
  readonly time: VirtualTime
  /** URL with the serving role. */
  readonly databaseUrl: string
  readonly sessions: ServerSessions
  readonly redisUrl: string | undefined
  readonly redisPrefix: string
  readonly dataDir: string
  readonly logPath: string
  /** All proxies to Postgres and Redis that were opened, of dead processes too. */
  readonly proxies: { readonly postgres: FaultProxy[]; readonly redis: FaultProxy[] }
  /** New connections to Postgres wait for this promise. */
  readonly gate: { open: Promise<void> }
  readonly onFault: (member: MemberName, injected: InjectedFault) => void
}

/** A process of the simulated service. */
export interface Member {
  readonly owner: Owner
  readonly postgres: FaultProxy
  readonly redis: FaultProxy | undefined
  /** Undefined if the process is a worker. */
  readonly api: ReachedApi | undefined
  readonly stalls: Stalls
  readonly gone: AbortController
}

/** Address of a running API, and a signal that aborts when the API is killed. */
export interface ReachedApi {
  readonly url: string
  readonly gone: AbortSignal
}

/** Faults of the file store and the queue for one process, in virtual time. */
export interface Stalls {
  /** The file store does not reply until this time. */
  storageUntilMs: number
  /** The same for files that are written in pieces, as results are. */
  writingUntilMs: number
  /** The same for removals. */
  removalUntilMs: number
  /** Each job is delivered twice until this time. */
  doubleUntilMs: number
}

/** Subjects that an engine processes concurrently. */
export const ENGINE_CONCURRENCY = 5

/** Real milliseconds after which the job of a dead worker is given to another worker. */
const LOCK_MS = 5_000

/** Settings with shorter intervals than in production. */
const QUICK = {
  LEASE_SECONDS: '10',
  SAVE_SECONDS: '2',
  SWEEP_SECONDS: '5',
  CALL_TIMEOUT_SECONDS: '15',
  DEBIT_TIMEOUT_SECONDS: '40',
} as const

/** Starts one process of the service: the real program, with simulated clock, network and engines. */
export async function startMember(setup: MemberSetup, name: MemberName): Promise<Member> {
  const { plan, time, databaseUrl, redisUrl } = setup
  const owner: Owner = { name, isDead: false, frozenUntilMs: 0 }
  const stalls: Stalls = {
    storageUntilMs: 0,
    writingUntilMs: 0,
    removalUntilMs: 0,
    doubleUntilMs: 0,
  }
  const openProxy = (kind: 'postgres' | 'redis', target: string): Promise<FaultProxy> =>
    openFaultProxy({
      kind,
      target,
      time,
      owner,
      isPooled: plan.isPooled,
      ...(kind === 'postgres' ? { sessions: setup.sessions } : {}),
      gate: setup.gate,
      onFault: (injected) => setup.onFault(name, injected),
    })
  const postgres = await openProxy('postgres', databaseUrl)
  const redis = redisUrl === undefined ? undefined : await openProxy('redis', redisUrl)
  setup.proxies.postgres.push(postgres)
  if (redis !== undefined) setup.proxies.redis.push(redis)
  const env = {
    ...QUICK,
    DATABASE_URL: postgres.url,
    DATA_DIR: setup.dataDir,
    PORT: '0',
    ADMIN_PORT: '0',
    WORKERS_WAIT_SECONDS: '0',
    LOG_LEVEL: 'info',
    INSTALLATION_KEY: 'the key of a simulation, which hides nothing',
    RATE_LIMIT_PER_SECOND: '1000000',
    RATE_LIMIT_BURST: '1000000',
    ...(redis === undefined ? {} : { REDIS_URL: redis.url, REDIS_PREFIX: setup.redisPrefix }),
  }
  const gone = new AbortController()
  const log = createLog({ name, level: 'info', destination: openSync(setup.logPath, 'a') })
  const url = await time.run(owner, async () => {
    if (name.startsWith('api')) {
      const { signal } = new AbortController()
      const api = await serveApi(readSettings(apiSettings, env), log, signal)
      return `http://127.0.0.1:${api.port}`
    }
    const settings = readSettings(workerSettings, {
      ...env,
      CHUNK_RECORDS: String(plan.chunkRecords),
    })
    const opened = await openContext(settings, log, name)
    const context = simulated(opened, { owner, time, stalls })
    const isBatch = name.startsWith('batch')
    const engines = (isBatch ? [] : CHECKS).map((check) =>
      instantEngine(check, {
        delayMs: plan.delayMs,
        width: ENGINE_CONCURRENCY,
        later: true,
        poison: POISON,
      }),
    )
    await serveWorker(context, engines, { batches: isBatch })
    return undefined
  })
  const api = url === undefined ? undefined : { url, gone: gone.signal }
  return { owner, postgres, redis, api, stalls, gone }
}

/** Ends a process as SIGKILL does: none of its timers or connections continues. */
export function killMember({ owner, postgres, redis, gone }: Member): void {
  owner.isDead = true
  gone.abort()
  postgres.close()
  redis?.close()
}

interface World {
  readonly owner: Owner
  readonly time: VirtualTime
  readonly stalls: Stalls
}

/** The context of a worker, with a file store that can stall and jobs that can be delivered twice. */
function simulated(context: WorkerContext, world: World): WorkerContext {
  const queue = doublingJobs(context.connections.queue, world)
  return {
    ...context,
    connections: { ...context.connections, queue },
    pipeline: {
      ...context.pipeline,
      queue,
      storage: stallingStorage(context.pipeline.storage, world),
    },
  }
}

function doublingJobs(queue: QueueBackend, { time, stalls }: World): QueueBackend {
  return {
    ...queue,
    consumer: (options) =>
      queue.consumer({
        ...options,
        lockMs: LOCK_MS,
        stalledMs: Math.min(options.stalledMs, LOCK_MS),
        process: async (job) => {
          const isDouble = time.nowMs() < stalls.doubleUntilMs
          await Promise.all([options.process(job), ...(isDouble ? [options.process(job)] : [])])
        },
      }),
  }
}

/** Bytes that the file store delivers in a virtual second, so that reading a long file takes time. */
const BYTES_A_SECOND = 16_384

/** A file store whose every call waits for the end of a stall, and for ever if the process is dead. */
function stallingStorage(storage: Storage, { owner, time, stalls }: World): Storage {
  async function open(until: Exclude<keyof Stalls, 'doubleUntilMs'> = 'storageUntilMs') {
    while (owner.isDead || stalls[until] > time.nowMs()) {
      if (owner.isDead) await new Promise(() => undefined)
      await waitRealTime(2)
    }
  }
  return {
    ...storage,
    put: async (key, path) => {
      await open()
      await storage.put(key, path)
    },
    create: async (key) => {
      await open('writingUntilMs')
      const file = await storage.create(key)
      return {
        write: async (bytes) => {
          await open('writingUntilMs')
          await file.write(bytes)
        },
        end: async () => {
          await open('writingUntilMs')
          await file.end()
        },
        [Symbol.asyncDispose]: async () => {
          await open('writingUntilMs')
          await file[Symbol.asyncDispose]()
        },
      }
    },
    open: async (key, range) => {
      await open()
      return await storage.open(key, range)
    },
    local: async (key) => {
      await open()
      const file = await storage.local(key)
      await time.wait(((await stat(file.path)).size / BYTES_A_SECOND) * 1_000)
      return file
    },
    remove: async (keys) => {
      await open()
      await open('removalUntilMs')
      await storage.remove(keys)
    },
    list: async function* (folder, names) {
      await open()
      for await (const page of storage.list(folder, names)) {
        yield page
        await open()
      }
    },
    dropParts: async (folder, wanted) => {
      await open()
      return await storage.dropParts(folder, wanted)
    },
  }
}

/** Path of the log of all processes of a seed. */
export function logPathOf(folder: string): string {
  return join(folder, 'log.ndjson')
}
