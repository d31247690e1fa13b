import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Environment } from '@plumbline/runtime/settings'
import type { Log } from '@plumbline/runtime/log'

/** A program of the service that runs as a child. */
export interface Program {
  readonly name: string
  /** Path below `services/`. */
  readonly main: string
  readonly args: readonly string[]
  /** Megabytes of old space; the young generation is kept small too, so that memory stays flat. */
  readonly heapMegabytes: number
}

/** Everything that a machine runs: the API, a worker for the four checks, one for batches. */
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

const SEMI_SPACE_MEGABYTES = 8
const RESTART_MS = 1_000

/** V8 flags that keep a program's memory flat: both generations bounded. */
export function memoryFlags(heapMegabytes: number): readonly string[] {
  return [`--max-old-space-size=${heapMegabytes}`, `--max-semi-space-size=${SEMI_SPACE_MEGABYTES}`]
}

/** Facts that a child tells when it takes work, such as its port. */
export type ReadyFacts = Readonly<Record<string, unknown>>

/** A child that is started again whenever it ends by itself, once it has been ready. */
export interface Supervised extends AsyncDisposable {
  /** Resolves when the first start has succeeded. */
  readonly ready: Promise<ReadyFacts>
  readonly pid: number | undefined
}

/** How a program is run. */
export interface SuperviseOptions {
  readonly env: Environment
  readonly log: Log
  readonly graceMs: number
  /** Called whenever the program takes work, the first time and after each new start; `tell` says a word to it. */
  readonly onReady?: (facts: ReadyFacts, tell: (word: string) => void) => void
}

/** Starts a program and keeps it running until disposed. */
export function supervise(program: Program, options: SuperviseOptions): Supervised {
  let child: ChildProcess | undefined
  let wasReady = false
  const stopping = new AbortController()
  const { promise: ready, resolve, reject } = Promise.withResolvers<ReadyFacts>()
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const started = start(program, options.env)
      child = started
      started.on('message', (message) => {
        if (!isReady(message)) return
        wasReady = true
        resolve(message)
        // One that has ended meanwhile hears no more, and is started again.
        options.onReady?.(message, (word) => started.send(word, () => undefined))
      })
      const [code, signal]: unknown[] = await once(started, 'exit')
      if (stopping.signal.aborted) return
      // What keeps it from starting the first time stays; it has said what.
      if (!wasReady) {
        reject(new Error(`${program.name} ended with ${String(code ?? signal)}; see above`))
        return
      }
      options.log.error({ program: program.name, code, signal }, 'program ended; starting it again')
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
    env: { ...env },
    execArgv: [...memoryFlags(program.heapMegabytes), '--disable-warning=ExperimentalWarning'],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
}

function isReady(message: unknown): message is ReadyFacts {
  return typeof message === 'object' && message !== null && 'ready' in message
}
