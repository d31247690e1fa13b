import { startRedis } from '@plumbline/testkit/redis'

/** A Redis that a scenario kills and restarts, under the same address. */
export interface LabRedis extends AsyncDisposable {
  readonly url: string
  /** Kills the server with SIGKILL, and removes its data. */
  kill(): Promise<void>
  start(): Promise<void>
}

/** Starts Redis. @throws if Redis is not installed */
export async function startLabRedis(): Promise<LabRedis> {
  const first = await startRedis()
  if (first === null) throw new Error('the lab needs redis-server (apt install redis-server)')
  let server = first
  return {
    url: first.url,
    kill: () => server.stop(),
    start: async () => {
      server = (await startRedis({ port: Number(new URL(first.url).port) })) ?? server
    },
    [Symbol.asyncDispose]: () => server.stop(),
  }
}
