import { readdir, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { backends } from '@plumbline/testkit/backends'
import {
  callStatus,
  creditsOf,
  IN_TURN,
  memberAt,
  openScene,
  RECORDS,
  stateOf,
  submit,
  untilNothingIsOwed,
  untilStopped,
  untilUnanswered,
  type Scene,
} from '@plumbline/testkit/crash-scene'
import { holdBack, type HeldChange } from '@plumbline/testkit/hold-back'
import { expectIntact, expectLedgerIntact } from '@plumbline/testkit/invariants'
import { PATIENT } from '@plumbline/testkit/patience'

// Real processes, killed at exactly the moment that a test is about: the database makes the change
// that comes next wait until the process is dead.
//
// Who takes the hold of a list: where it starts by itself, the list worker (`worker batch`) that has
// read it; where a client starts it, the API. Both commit hold, tasks and `running` in one transaction,
// and the dispatcher in the list worker hands out the tasks after that.

/** The dispatcher leases the first tasks, or a worker takes one. */
const DISPATCH: HeldChange = { table: 'tasks', change: 'update', when: 'new.lease > old.lease' }
const READING: HeldChange = { table: 'chunks', change: 'insert' }
const HALF_SETTLED: HeldChange = {
  table: 'chunks',
  change: 'update',
  when: 'new.settled_at is not null and new.no = 20',
}
const ENDING: HeldChange = {
  table: 'batches',
  change: 'update',
  when: "new.status = 'completed'",
}

describe.concurrent.each(backends())('on $name', ({ redisUrl }) => {
  test('a kill of the list worker between hold and dispatch costs nothing', IN_TURN, async () => {
    await using scene = await openScene(redisUrl, [['email'], ['batch']])
    await using dispatch = await holdBack(scene.databaseUrl, DISPATCH)
    const { id, emails } = await submit(scene)
    await dispatch.reached()
    await expectHeld(scene, id)
    const lists = memberAt(scene.service, 1)
    await lists.kill('SIGKILL')
    await dispatch.release()
    await lists.restart()
    await expectIntact(scene.service, scene.account, await untilStopped(scene, id), emails)
  })

  test(
    'a kill of the API between hold and dispatch leaves the list to the workers',
    IN_TURN,
    async () => {
      await using scene = await openScene(redisUrl, [['email'], ['batch']])
      const { service, account } = scene
      await using dispatch = await holdBack(scene.databaseUrl, DISPATCH)
      const { id, emails } = await submit(scene, { start: false })
      expect(await untilStopped(scene, id)).toMatchObject({ status: 'ready', credits: { held: 0 } })
      // Whether the client still hears of it is luck.
      const started = service
        .call(account.liveKey, 'POST', `/v1/batches/${id}/start`)
        .catch(() => undefined)
      await dispatch.reached()
      await expectHeld(scene, id)
      await service.api.kill('SIGKILL')
      await started
      await dispatch.release()
      await service.api.restart()
      await expectIntact(service, account, await untilStopped(scene, id), emails)
    },
  )

  test(
    'a kill of the list worker as it reads a list, or says that it is done, costs nothing',
    IN_TURN,
    async () => {
      await using scene = await openScene(redisUrl, [['email'], ['batch']])
      await using reading = await holdBack(scene.databaseUrl, READING)
      await using ending = await holdBack(scene.databaseUrl, ENDING)
      const { id, emails } = await submit(scene)
      const lists = memberAt(scene.service, 1)
      for (const moment of [reading, ending]) {
        await moment.reached()
        await lists.kill('SIGKILL')
        await moment.release()
        await lists.restart()
      }
      await expectIntact(scene.service, scene.account, await untilStopped(scene, id), emails)
    },
  )

  test(
    'a kill of the list worker that writes the result of a running list costs nothing',
    IN_TURN,
    async () => {
      await using scene = await openScene(redisUrl, [['email'], ['batch']])
      await using settling = await holdBack(scene.databaseUrl, HALF_SETTLED)
      const { id, emails } = await submit(scene)
      await settling.reached()
      await vi.waitFor(async () => expect(await bytesWritten(scene)).toBeGreaterThan(0), PATIENT)
      expect(await stateOf(scene, id)).toBe('running')
      const lists = memberAt(scene.service, 1)
      await lists.kill('SIGKILL')
      await settling.release()
      await lists.restart()
      await expectIntact(scene.service, scene.account, await untilStopped(scene, id), emails)
    },
  )

  test('a kill of the API between debit and answer gives the credits back', IN_TURN, async () => {
    // No call is answered before its time is over, which is after the kill.
    await using scene = await openScene(redisUrl, [['email', '--delay=60000'], ['batch']])
    const { service } = scene
    const before = await creditsOf(scene)
    const calls = Array.from({ length: 20 }, (_, at) =>
      callStatus(scene, `lost${at}@example.com`).catch(() => 0),
    )
    await untilUnanswered(service, 20)
    await service.api.kill('SIGKILL')
    expect(await Promise.all(calls)).toEqual(calls.map(() => 0))
    await service.api.restart()
    await untilNothingIsOwed(service)
    expect(await creditsOf(scene)).toBe(before)
    await expectLedgerIntact(service)
  })
})

/** The credits are held, the tasks are there, and none was ever handed out. */
async function expectHeld({ service }: Scene, id: string): Promise<void> {
  const { rows } = await service.db.pool.query(
    `select b.status, b.credits_held as held, max(t.lease) as lease
     from batches b join tasks t on t.batch_id = b.id where b.id = $1 group by b.id`,
    [id],
  )
  expect(rows).toEqual([{ status: 'running', held: RECORDS, lease: 0 }])
}

/** Bytes of result files in the making. */
async function bytesWritten({ service }: Scene): Promise<number> {
  const dir = join(service.dataDir, 'scratch')
  const found = await readdir(dir, { recursive: true })
  const names = found.filter((name) => basename(name).startsWith('result-'))
  const files = await Promise.all(names.map((name) => stat(join(dir, name))))
  return files.reduce((sum, { size }) => sum + size, 0)
}
