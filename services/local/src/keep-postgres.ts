import { setTimeout as wait } from 'node:timers/promises'
import {
  startEmbeddedPostgres,
  type EmbeddedOptions,
  type EmbeddedPostgres,
} from '@plumbline/db/embedded'
import type { Log } from '@plumbline/ports/log'

/** The packaged Postgres, which is started again whenever it ends, until disposed. */
export interface KeptPostgres extends AsyncDisposable {
  /** As of `EmbeddedPostgres`; they stay the same. */
  readonly url: string
  readonly servingUrl: string
}

/** Milliseconds before a start that follows an end, doubled with each that fails. */
const RESTART_MS = { first: 1_000, last: 30_000 }

/**
 * Starts the packaged Postgres and keeps it running at the same address. It ends by itself if the
 * system kills it for its memory, or if its recovery finds the disk full.
 *
 * @throws if the first start fails
 */
export async function keepPostgres(
  options: EmbeddedOptions,
  log: Log,
  restartMs = RESTART_MS,
): Promise<KeptPostgres> {
  const first = await startEmbeddedPostgres(options)
  const { url, servingUrl } = first
  const stopping = new AbortController()
  const { signal } = stopping
  /** Null if it is to stop. */
  async function startAgain(): Promise<EmbeddedPostgres | null> {
    for (let ms = restartMs.first; ; ms = Math.min(2 * ms, restartMs.last)) {
      await wait(ms, undefined, { signal }).catch(() => undefined)
      if (signal.aborted) return null
      try {
        return await startEmbeddedPostgres({ ...options, signal, port: Number(new URL(url).port) })
      } catch (error) {
        if (!signal.aborted) log.error({ err: error }, 'Postgres cannot be started; trying again')
      }
    }
  }
  async function keep(): Promise<void> {
    const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve))
    for (let server: EmbeddedPostgres | null = first; server !== null;) {
      await Promise.race([server.ended, aborted])
      await server.stop()
      if (signal.aborted) return
      log.error({}, 'Postgres ended; starting it again')
      server = await startAgain()
    }
  }
  const keeping = keep()
  return {
    url,
    servingUrl,
    async [Symbol.asyncDispose]() {
      stopping.abort()
      await keeping
    },
  }
}
