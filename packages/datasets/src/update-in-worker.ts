import { setTimeout as wait } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { Log } from '@plumbline/ports/log'
import { isStopped, type SourceUpdate } from './update.ts'
import type { EndMessage, UpdateMessage, UpdateRequest } from './update-worker.ts'

/**
 * Heap limit of the thread in MiB: the largest list has 300,000 lines; databases are outside the
 * heap.
 */
const HEAP_MAX_MIB = 512

/**
 * Milliseconds that an aborted update has to end; then the thread is terminated, and no file is
 * left incomplete.
 */
const END_MS = 3_000

/**
 * Runs `updateAll` in a worker thread, so that the event loop is free while lists are parsed and
 * databases are read, and their memory is released afterwards. Throws the errors of `updateAll`,
 * and if the thread dies.
 */
export async function updateAllInWorker(
  order: UpdateRequest,
  log: Pick<Log, 'info' | 'warn'>,
  signal: AbortSignal,
): Promise<readonly SourceUpdate[]> {
  signal.throwIfAborted()
  const worker = new Worker(new URL('./update-worker.ts', import.meta.url), {
    workerData: order,
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MAX_MIB },
  })
  const ended = new AbortController()
  const stop = (): void => {
    const word: EndMessage = isStopped(signal) ? 'stop' : 'late'
    worker.postMessage(word, [])
    wait(END_MS, undefined, { signal: ended.signal })
      .then(() => worker.terminate())
      .catch(() => undefined)
  }
  signal.addEventListener('abort', stop, { once: true })
  try {
    const { promise, resolve, reject } = Promise.withResolvers<readonly SourceUpdate[]>()
    worker.on('message', (message: UpdateMessage) => {
      if (message.kind === 'updated') resolve(message.updates)
      else log[message.level](message.fields, message.text)
    })
    worker.once('error', reject)
    worker.once('exit', (code) => reject(new Error(`the update ended with code ${code}`)))
    return await promise
  } finally {
    signal.removeEventListener('abort', stop)
    ended.abort()
    await worker.terminate()
  }
}
