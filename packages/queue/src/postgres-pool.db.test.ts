import { PATIENT } from '@plumbline/testkit/patience'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { openPostgresTestQueue } from '@plumbline/testkit/queue'
import { expect, test, vi } from 'vitest'
import { enqueue, work } from './jobs.ts'

test.each(['?options=-c%20lock_timeout%3D5000', '?connect_timeout=10&options=-c+jit%3Doff'])(
  'jobs arrive over a database whose address has options of its own: %s',
  async (query) => {
    await using database = await createTestDatabase()
    await using queue = await openPostgresTestQueue(`${database.url}${query}`)
    const seen: string[] = []
    await using _ = await work(queue.backend, 'intake', async ({ id }) => void seen.push(id), {
      concurrency: 1,
      onError: () => undefined,
    })
    await enqueue(queue.backend, 'intake', [{ id: 'one', data: {} }])
    await vi.waitFor(() => expect(seen).toEqual(['one']), PATIENT)
  },
)
