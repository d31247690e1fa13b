import { openDatabase } from '@plumbline/db/database'
import {
  deleteWorkerReport,
  reportWorker,
  WORKER_KINDS,
  type WorkerKind,
} from '@plumbline/db/workers'
import { expect, test } from 'vitest'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { createStartUp } from './start-up.ts'

async function openService(waitSeconds: number) {
  await using stack = new AsyncDisposableStack()
  const database = stack.use(await createTestDatabase())
  const db = stack.use(openDatabase({ url: database.url, poolSize: 2, applicationName: 'test' }))
  const found = Promise.withResolvers<void>()
  const startUp = createStartUp({ db, found: found.promise, waitSeconds })
  const owned = stack.move()
  return {
    startUp,
    found: async () => {
      found.resolve()
      await found.promise
    },
    lives: (kind: WorkerKind) => reportWorker(db, { name: `w-${kind}`, kind, health: [] }),
    leaves: (kind: WorkerKind) => deleteWorkerReport(db, `w-${kind}`),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

test('a start is completed once the service is found and each kind of worker has reported, and stays so', async () => {
  await using service = await openService(60)
  await expect(service.startUp.check()).rejects.toThrow('the service is starting')
  await service.found()
  for (const kind of WORKER_KINDS) {
    await expect(service.startUp.check()).rejects.toThrow(`no worker runs yet for ${kind}`)
    await service.lives(kind)
  }
  await expect(service.startUp.check()).resolves.toBeUndefined()
  await service.leaves('phone')
  await expect(service.startUp.check()).resolves.toBeUndefined()
})

test('a start is not completed while no command line can find the service, however long that takes', async () => {
  await using service = await openService(0)
  await expect(service.startUp.check()).rejects.toThrow('the service is starting')
  await service.found()
  await expect(service.startUp.check()).resolves.toBeUndefined()
})
