import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { PATIENT } from '@plumbline/testkit/patience'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { openPostgresTestQueue } from '@plumbline/testkit/queue'
import { expect, test, vi } from 'vitest'
import { enqueue, work } from './jobs.ts'

/** A proxy of a database that can be closed: then each connection ends as soon as it is opened. */
async function openGate(
  target: string,
): Promise<AsyncDisposable & { url: string; isShut: boolean }> {
  const upstream = new URL(target)
  const sockets = new Set<Socket>()
  let isShut = false
  const server = createServer((client) => {
    if (isShut) {
      client.destroy()
      return
    }
    const behind = connect(Number(upstream.port), upstream.hostname)
    for (const socket of [client, behind]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => [client, behind].forEach((end) => end.destroy()))
    }
    client.pipe(behind).pipe(client)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the gate has no port')
  const url = new URL(target)
  url.port = String(address.port)
  return {
    url: url.href,
    get isShut() {
      return isShut
    },
    set isShut(shut) {
      isShut = shut
      if (shut) for (const socket of sockets) socket.destroy()
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise((closed) => server.close(closed))
    },
  }
}

test('a consumer reports that its server is unreachable at its start', async () => {
  await using database = await createTestDatabase()
  await using gate = await openGate(database.url)
  await using queue = await openPostgresTestQueue(gate.url)
  gate.isShut = true
  const started = work(queue.backend, 'intake', async () => undefined, {
    concurrency: 1,
    onError: () => undefined,
  })
  await expect(started).rejects.toThrow('terminated')
})

test('while its server is down a consumer uses little processor time, and continues afterwards', async () => {
  await using database = await createTestDatabase()
  await using gate = await openGate(database.url)
  await using queue = await openPostgresTestQueue(gate.url)
  await using adder = await openPostgresTestQueue(database.url)
  const seen: string[] = []
  await using _ = await work(queue.backend, 'intake', async ({ id }) => void seen.push(id), {
    concurrency: 1,
    onError: () => undefined,
  })
  gate.isShut = true
  await wait(1_000)
  expect(queue.errors.length).toBeLessThan(30)
  gate.isShut = false
  await enqueue(adder.backend, 'intake', [{ id: 'after', data: {} }])
  await vi.waitFor(() => expect(seen).toEqual(['after']), PATIENT)
})
