import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { backends } from '@plumbline/testkit/backends'
import {
  callStatus,
  CHUNK_RECORDS,
  creditsOf,
  SEQUENTIAL,
  memberAt,
  openCrashHarness,
  openNextContext,
  RECORDS,
  stateOf,
  submit,
  untilDebitsAreClosed,
  untilStopped,
  untilUnanswered,
  type CrashHarness,
  type CrashContext,
} from '@plumbline/testkit/crash-harness'
import { blockChange, type RowChange } from '@plumbline/testkit/block-change'
import { expectIntact, expectLedgerIntact } from '@plumbline/testkit/invariants'
import { PATIENT } from '@plumbline/testkit/patience'

// Real processes, killed at an exact moment: the database delays the next change until the process is
// dead.
//
// The hold of a batch is made by the batch worker (`worker batch`) that has read it if it starts by
// itself, or by the API if a client starts it. Both commit hold, tasks and `running` in one
// transaction; afterwards the dispatcher in the batch worker dispatches the tasks.

/** The dispatcher leases the first tasks, or a worker claims one. */
const DISPATCH: RowChange = { table: 'tasks', change: 'update', when: 'new.lease > old.lease' }
/** A worker has taken the job of a task, and claims the task. */
const CLAIM: RowChange = {
  table: 'tasks',
  change: 'update',
  when: 'new.claimed and not old.claimed',
}
const READING: RowChange = { table: 'chunks', change: 'insert' }
/** A batch large enough for its result to be written while it runs. */
const LARGE = 12_000
const HALF_SETTLED: RowChange = {
  table: 'chunks',
  change: 'update',
  when: `new.settled_at is not null and new.no = ${LARGE / CHUNK_RECORDS / 2}`,
}
const ENDING: RowChange = {
  table: 'batches',
  change: 'update',
  when: "new.status = 'completed'",
}

describe.concurrent.each(backends())('on $name', ({ redisUrl }) => {
  let whole: CrashHarness
  beforeAll(async () => {
    whole = await openCrashHarness(redisUrl, [['email'], ['batch']])
  })
  afterAll(async () => await whole[Symbol.asyncDispose]())

  test(
    'a kill of the batch worker between hold and dispatch loses nothing',
    SEQUENTIAL,
    async () => {
      const harness = await openNextContext(whole)
      await using dispatch = await blockChange(harness.databaseUrl, DISPATCH)
      const { id, emails } = await submit(harness)
      await dispatch.reached()
      await expectHeld(harness, id)
      const lists = memberAt(harness.service, 1)
      await lists.kill('SIGKILL')
      await dispatch.release()
      await lists.restart()
      await expectIntact(harness.service, harness.account, await untilStopped(harness, id), emails)
    },
  )

  test(
    'a kill of the API between hold and dispatch leaves the batch to the workers',
    SEQUENTIAL,
    async () => {
      const harness = await openNextContext(whole)
      const { service, account } = harness
      await using dispatch = await blockChange(harness.databaseUrl, DISPATCH)
      const { id, emails } = await submit(harness, { start: false })
      expect(await untilStopped(harness, id)).toMatchObject({
        status: 'ready',
        credits: { held: 0 },
      })
      // The client may or may not get the response.
      const started = service
        .call(account.liveKey, 'POST', `/v1/batches/${id}/start`)
        .catch(() => undefined)
      await dispatch.reached()
      await expectHeld(harness, id)
      await service.api.kill('SIGKILL')
      await started
      await dispatch.release()
      await service.api.restart()
      await expectIntact(service, account, await untilStopped(harness, id), emails)
    },
  )

  test(
    'a kill of the email worker that has taken a job and not claimed its task loses nothing',
    SEQUENTIAL,
    async () => {
      const harness = await openNextContext(whole)
      await using claim = await blockChange(harness.databaseUrl, CLAIM)
      const { id, emails } = await submit(harness)
      await claim.reached()
      const worker = memberAt(harness.service, 0)
      await worker.kill('SIGKILL')
      await claim.release()
      await worker.restart()
      await expectIntact(harness.service, harness.account, await untilStopped(harness, id), emails)
    },
  )

  test(
    'a kill of the batch worker while it reads a batch, or records that it has, loses nothing',
    SEQUENTIAL,
    async () => {
      const harness = await openNextContext(whole)
      await using reading = await blockChange(harness.databaseUrl, READING)
      await using ending = await blockChange(harness.databaseUrl, ENDING)
      const { id, emails } = await submit(harness)
      const lists = memberAt(harness.service, 1)
      for (const moment of [reading, ending]) {
        await moment.reached()
        await lists.kill('SIGKILL')
        await moment.release()
        await lists.restart()
      }
      await expectIntact(harness.service, harness.account, await untilStopped(harness, id), emails)
    },
  )

  test(
    'a kill of the batch worker that writes the result of a running batch loses nothing',
    SEQUENTIAL,
    async () => {
      const harness = await openNextContext(whole)
      const before = new Set(await resultsInTheMaking(harness))
      await using settling = await blockChange(harness.databaseUrl, HALF_SETTLED)
      const { id, emails } = await submit(harness, { count: LARGE })
      await settling.reached()
      await vi.waitFor(
        async () => expect(await bytesWritten(harness, before)).toBeGreaterThan(0),
        PATIENT,
      )
      expect(await stateOf(harness, id)).toBe('running')
      const lists = memberAt(harness.service, 1)
      await lists.kill('SIGKILL')
      await settling.release()
      await lists.restart()
      await expectIntact(harness.service, harness.account, await untilStopped(harness, id), emails)
    },
  )

  test(
    'a call is refunded if the API is killed between debit and response',
    SEQUENTIAL,
    async () => {
      const harness = await openNextContext(whole)
      const { service } = harness
      // Without a worker no call is answered before its time limit, which is after the kill.
      await memberAt(service, 0).kill('SIGKILL')
      const before = await creditsOf(harness)
      const calls = Array.from({ length: 20 }, (_, at) =>
        callStatus(harness, `lost${at}@example.com`).catch(() => 0),
      )
      await untilUnanswered(service, 20)
      await service.api.kill('SIGKILL')
      expect(await Promise.all(calls)).toEqual(calls.map(() => 0))
      await service.api.restart()
      await untilDebitsAreClosed(service)
      expect(await creditsOf(harness)).toBe(before)
      await expectLedgerIntact(service)
    },
  )
})

/** The credits are held, the tasks exist, and none was ever dispatched. */
async function expectHeld({ service }: CrashContext, id: string): Promise<void> {
  const { rows } = await service.db.pool.query(
    `select b.status, b.credits_held as held, max(t.lease) as lease
     from batches b join tasks t on t.batch_id = b.id where b.id = $1 group by b.id`,
    [id],
  )
  expect(rows).toEqual([{ status: 'running', held: RECORDS, lease: 0 }])
}

/** Bytes of unfinished result files, except those that an earlier kill has left. */
async function bytesWritten(harness: CrashContext, before: ReadonlySet<string>): Promise<number> {
  const found = await resultsInTheMaking(harness)
  const files = await Promise.all(
    found.filter((path) => !before.has(path)).map((path) => stat(path)),
  )
  return files.reduce((sum, { size }) => sum + size, 0)
}

async function resultsInTheMaking({ service }: CrashContext): Promise<readonly string[]> {
  const dir = join(service.dataDir, 'files', 'results')
  // The folder is created with the first result.
  const found = await readdir(dir).catch(() => [])
  return found.filter((name) => name.endsWith('.part')).map((name) => join(dir, name))
}
