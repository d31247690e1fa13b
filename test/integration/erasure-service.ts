import type { ErasureView } from '@plumbline/contract/erasure'
import { call, type Caller } from '@plumbline/testkit/batches'
import { readFolder, readPacked, readRedis, readTables } from '@plumbline/testkit/marks'
import type { TestService } from '@plumbline/testkit/service'
import { Redis } from 'ioredis'
import { expect } from 'vitest'

// Helpers for tests of erasures with a service of whole processes.

/** A POST of JSON with headers of its own. */
export async function ask(
  { service, key }: Caller,
  path: string,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return await fetch(new URL(path, service.url), {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
}

/** Waits for the end of an erasure. */
export async function untilErased(caller: Caller, id: string): Promise<ErasureView> {
  const read = async (): Promise<ErasureView> =>
    // Safe because the service answers erasures in the shape of its contract.
    (await (await call(caller, 'GET', `/v1/erase/${id}`)).json()) as ErasureView
  await expect.poll(async () => (await read()).status).toBe('completed')
  return await read()
}

/** Everything that a service has stored: tables (compressed values unpacked), keys of Redis and files. */
export async function storedTexts(
  service: TestService,
  redisUrl: string | null,
): Promise<readonly { readonly place: string; readonly text: string }[]> {
  const stored = [...(await readTables(service.db)), ...(await readPacked(service.db))]
  if (redisUrl !== null) {
    const redis = new Redis(redisUrl)
    stored.push(...(await readRedis(redis)))
    redis.disconnect()
  }
  return [...stored, ...(await readFolder(service.dataDir))]
}
