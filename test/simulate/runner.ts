import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { SeedRequest, SeedReply } from './run-seed.ts'

/** Runs worlds in a child process, one after another. */
export interface Runner extends AsyncDisposable {
  run(asked: SeedRequest): Promise<SeedReply>
}

/** Real milliseconds after which a world counts as hung. */
const LONGEST_MS = 600_000

/** Worlds that a process runs before it is replaced: each leaks some memory. */
const MOST_WORLDS = 12

/**
 * Opens a runner, which starts the process on demand and replaces one that has failed.
 *
 * @param fault name of a restored fault
 */
export function openRunner(fault?: string): Runner {
  let child: ChildProcess | undefined
  let worlds = 0
  const end = async (): Promise<void> => {
    const stopping = child
    child = undefined
    worlds = 0
    if (stopping === undefined || stopping.exitCode !== null || stopping.signalCode !== null) return
    const ended = once(stopping, 'exit')
    stopping.kill('SIGKILL')
    await ended
  }
  return {
    run: async (asked) => {
      child ??= start(fault)
      const reply = await runIn(child, asked)
      worlds += 1
      const isOver = reply.result.faults.length > 0 || worlds >= MOST_WORLDS
      if (isOver) await end()
      return reply
    },
    [Symbol.asyncDispose]: end,
  }
}

// A world whose servers are gone may never notice that its parent has ended.
const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

function start(fault: string | undefined): ChildProcess {
  const hook = new URL(`restore-fault.ts?${fault}`, import.meta.url).href
  const child = fork(fileURLToPath(new URL('run-seed.ts', import.meta.url)), {
    execArgv: [
      '--disable-warning=ExperimentalWarning',
      ...(fault === undefined ? [] : [`--import=${hook}`]),
    ],
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
  })
  running.add(child)
  child.once('exit', () => running.delete(child))
  return child
}

/** Runs a world in a process; if that process exits, the world has failed. */
async function runIn(child: ChildProcess, asked: SeedRequest): Promise<SeedReply> {
  const said: string[] = []
  const listen = (text: Buffer): void => void said.push(text.toString())
  const ended = new AbortController()
  const { signal } = ended
  const hung = setTimeout(() => child.kill('SIGKILL'), LONGEST_MS)
  child.stderr?.on('data', listen)
  try {
    child.send(asked)
    return await Promise.race([
      // Safe because `run-seed.ts` alone answers.
      once(child, 'message', { signal }).then(([reply]) => reply as SeedReply),
      once(child, 'close', { signal }).then(([code, by]: unknown[]) =>
        broken(`its process ended with ${String(code ?? by)}: ${said.join('').slice(-2_000)}`),
      ),
    ])
  } catch (error) {
    return broken(String(error))
  } finally {
    ended.abort()
    clearTimeout(hung)
    child.stderr?.off('data', listen)
  }
}

function broken(why: string): SeedReply {
  const faults = [`the world did not finish: ${why}`]
  const fullest = { jobs: 0, bound: 0 }
  return { result: { faults, lastedMs: 0, batchCount: 0, callCount: 0, fullest }, cpuMs: 0 }
}
