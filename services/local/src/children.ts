import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Environment } from '@plumbline/runtime/settings'
import type { Log } from '@plumbline/ports/log'

/** Name of a program; `worker` is the one for checks. */
export type ProgramName = 'api' | 'worker' | 'batch'

/** A program of the service that runs as a child process. */
export interface Program {
  readonly name: ProgramName
  /** Path below `services/`. */
  readonly main: string
  readonly args: readonly string[]
  /** Size of V8's old generation in megabytes. */
  readonly heapMegabytes: number
}

/** The programs of one machine: the API, a worker for the four checks, one for batches. */
export const PROGRAMS: readonly Program[] = [
  { name: 'api', main: 'api/src/main.ts', args: ['--found-later'], heapMegabytes: 256 },
  {
    name: 'worker',
    main: 'worker/src/main.ts',
    args: ['email', 'phone', 'ip', 'domain'],
    heapMegabytes: 768,
  },
  { name: 'batch', main: 'worker/src/main.ts', args: ['batch'], heapMegabytes: 160 },
]

/**
 * Size of the young generation's semi-spaces, of which V8 takes up to three. Each collection copies
 * what is in use, for single calls all that are under way, so that with 4 MB instead of 32 their
 * rate is a fifth lower. `npm start` has little memory: for a million records (`bench -- memory`)
 * the API takes 165 to 181 MB with 8 instead of 139 to 172, a worker for checks up to 192.
 */
const SEMI_SPACE_MEGABYTES = 4

/**
 * Threads of V8 that help with garbage collection. Node has four in each program: on a machine of
 * two cores a program waits for its own while they wait for a core, and single calls beside a batch
 * take longer (`bench -- mixed`); with fewer, a program takes up to 15 MB more (`bench -- memory`).
 * So a program has the fewer, the more calls wait for it.
 */
const HELPER_THREADS = { api: 1, worker: 2, batch: 4 } as const

/**
 * Limits memory outside of V8's heaps with glibc: freed buffers of 128 KiB or more are returned to
 * the system, and all threads share two arenas.
 */
export const MEMORY_ENVIRONMENT: Readonly<Record<string, string>> = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: '131072',
  MALLOC_TRIM_THRESHOLD_: '262144',
}

const RESTART_MS = 1_000

/** V8 flags that limit the heap and the helper threads of a program of `npm start`. */
export function memoryFlags(heapMegabytes: number, program: ProgramName): readonly string[] {
  return v8Flags(heapMegabytes, SEMI_SPACE_MEGABYTES, HELPER_THREADS[program])
}

/** V8 flags of any program in a container of a gigabyte. */
export const CONTAINER_FLAGS = v8Flags(768, 32, 2)

/**
 * V8 flags for the size of the old generation and of the semi-spaces of the young one, which else
 * grows with load, in megabytes, and for the threads that help with garbage collection.
 */
function v8Flags(oldSpace: number, semiSpace: number, threads: number): readonly string[] {
  return [
    `--max-old-space-size=${oldSpace}`,
    `--max-semi-space-size=${semiSpace}`,
    `--v8-pool-size=${threads}`,
  ]
}

/** Data that a child reports when it is ready, such as its port. */
export type ReadyFacts = Readonly<Record<string, unknown>>

/** A child process that is restarted whenever it ends unexpectedly after it has been ready. */
export interface Supervised extends AsyncDisposable {
  /** Resolves when the first start has succeeded. */
  readonly ready: Promise<ReadyFacts>
  readonly pid: number | undefined
}

/** Options of `supervise`. */
export interface SuperviseOptions {
  readonly env: Environment
  readonly log: Log
  readonly graceMs: number
  /** Called whenever the program is ready, after each start; `tell` sends it a message. */
  readonly onReady?: (facts: ReadyFacts, tell: (word: string) => void) => void
}

/** Starts a program and keeps it running until disposed. */
export function supervise(program: Program, options: SuperviseOptions): Supervised {
  let child: ChildProcess | undefined
  let wasReady = false
  const stopping = new AbortController()
  const { promise: ready, resolve, reject } = Promise.withResolvers<ReadyFacts>()
  const runOnce = async (): Promise<{ readonly code: unknown; readonly signal: unknown }> => {
    const started = start(program, options.env)
    child = started
    started.on('message', (message) => {
      if (!isReady(message)) return
      wasReady = true
      resolve(message)
      // Sending to a child that has ended meanwhile fails; it is restarted.
      options.onReady?.(message, (word) => started.send(word, () => undefined))
    })
    const [code, signal]: unknown[] = await once(started, 'exit')
    return { code, signal }
  }
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      // The system may lack memory for another process, as after it has killed this one for that.
      const ended = await runOnce().catch((err: unknown) => {
        if (!wasReady) throw err
        return { err }
      })
      if (stopping.signal.aborted) return
      if (!wasReady && 'code' in ended) {
        // A program that could not start would fail again; it has printed the reason itself.
        const { code, signal } = ended
        reject(new Error(`${program.name} ended with ${String(code ?? signal)}; see above`))
        return
      }
      options.log.error(
        { program: program.name, ...ended },
        'err' in ended
          ? 'program cannot be started; trying again'
          : 'program ended; starting it again',
      )
      await wait(RESTART_MS)
    }
  }
  const running = run().catch((error: unknown) => {
    reject(error)
    options.log.error({ err: error, program: program.name }, 'program cannot be started')
  })
  return {
    ready,
    get pid() {
      return child?.pid
    },
    [Symbol.asyncDispose]: async () => {
      stopping.abort()
      child?.kill('SIGTERM')
      const killer = setTimeout(() => child?.kill('SIGKILL'), options.graceMs)
      await running
      clearTimeout(killer)
    },
  }
}

function start(program: Program, env: Environment): ChildProcess {
  return fork(fileURLToPath(new URL(`../../${program.main}`, import.meta.url)), program.args, {
    env: { ...MEMORY_ENVIRONMENT, ...env },
    execArgv: [
      ...memoryFlags(program.heapMegabytes, program.name),
      '--disable-warning=ExperimentalWarning',
    ],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
}

function isReady(message: unknown): message is ReadyFacts {
  return typeof message === 'object' && message !== null && 'ready' in message
}
