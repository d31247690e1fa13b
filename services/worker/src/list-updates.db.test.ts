import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openListMirror, SHORT_LIST, shortList } from '@plumbline/datasets/list-mirror-fixture'
import { updateAll } from '@plumbline/datasets/update-all'
import { noteUpdateEnd, noteUpdateStart } from '@plumbline/datasets/update-record'
import { openDatabase, type Db } from '@plumbline/db/database'
import { createEgress } from '@plumbline/net/egress'
import { fetchBounded } from '@plumbline/net/http'
import { createResolver } from '@plumbline/net/resolver'
import { createLog } from '@plumbline/runtime/log'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { expect, onTestFinished, test } from 'vitest'
import { createListUpdates, type ListUpdates, type ListUpdatesOptions } from './list-updates.ts'

// The clock and the waits of the processes are the tests'; database, files and HTTP are real.

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const PATIENT_MS = 120_000

interface Clock {
  now: number
}

/** One process: it waits until the test lets it continue. */
interface Process {
  readonly updates: ListUpdates
  /** The next wait that it begins, in milliseconds. */
  nextWait(): Promise<number>
  goOn(): void
}

function start(
  options: Pick<ListUpdatesOptions, 'db' | 'dir' | 'holder' | 'update'>,
  clock: Clock,
): Process {
  const waits: PromiseWithResolvers<number>[] = []
  const waitAt = (index: number): PromiseWithResolvers<number> =>
    (waits[index] ??= Promise.withResolvers<number>())
  let begun = 0
  let seen = 0
  let goOn = (): void => undefined
  const updates = createListUpdates({
    ...options,
    mode: 'daily',
    log: createLog({ name: 'test', level: 'silent' }),
    now: () => new Date(clock.now),
    random: () => 0.5,
    wait: (ms, signal) =>
      new Promise<void>((resolve, reject) => {
        goOn = resolve
        signal.addEventListener('abort', () => reject(new Error('stopped')))
        waitAt(begun++).resolve(ms)
      }),
  })
  const stop = new AbortController()
  const ended = updates.run(stop.signal)
  onTestFinished(async () => {
    stop.abort()
    await ended
  })
  return { updates, nextWait: () => waitAt(seen++).promise, goOn: () => goOn() }
}

async function folder(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'lists-'))
  onTestFinished(() => rm(dir, { recursive: true }))
  return dir
}

async function openTestDb(): Promise<Db> {
  const database = await createTestDatabase()
  const db = openDatabase({ url: database.url, poolSize: 3, applicationName: 'test' })
  onTestFinished(async () => {
    await db[Symbol.asyncDispose]()
    await database[Symbol.asyncDispose]()
  })
  return db
}

test(
  'lists are updated an hour after a start and then daily, by one of two processes, and unavailable ones stay',
  async () => {
    await using mirror = await openListMirror()
    const db = await openTestDb()
    const dir = await folder()
    const clock = { now: Date.parse('2026-11-20T12:00:00Z') }
    const egress = createEgress({ allow: ['127.0.0.0/8'] })
    const network = { egress, resolver: createResolver({ servers: ['127.0.0.1:9'], egress }) }
    const update = (signal: AbortSignal): ReturnType<typeof updateAll> =>
      updateAll(
        {
          dir,
          fetch: (request) => fetchBounded({ ...request, ...network }),
          log: { info() {}, warn() {} },
          signal,
          now: () => new Date(clock.now),
        },
        { rdapUrl: `${mirror.url}/rdap`, cityDb: 'own', asnDb: 'own', mirror: mirror.url },
      )
    const processes = ['one', 'other'].map((holder) => start({ db, dir, holder, update }, clock))
    const health = async (): Promise<unknown> => (await processes[0]?.updates.health())?.[0]
    /** Lets both processes continue after this time, until each waits again; returns the waits. */
    const pass = async (ms: number): Promise<readonly number[]> => {
      clock.now += ms
      for (const { goOn } of processes) goOn()
      return await Promise.all(processes.map(({ nextWait }) => nextWait()))
    }
    const askedCount = (): number => mirror.asked.filter((path) => path === SHORT_LIST.path).length
    const list = (): Promise<string> => readFile(join(dir, SHORT_LIST.file), 'utf8')

    mirror.files.set(SHORT_LIST.path, shortList(0))
    for (const { nextWait } of processes) expect(await nextWait()).toBe(1.5 * HOUR_MS)
    expect(mirror.asked).toEqual([])
    expect(await health()).toMatchObject({ status: 'ok' })

    const looks = await pass(1.5 * HOUR_MS)
    expect(looks.every((ms) => ms < HOUR_MS)).toBe(true)
    expect(askedCount()).toBe(1)
    expect(await list()).toContain('192.0.19.0/24')
    await pass(HOUR_MS)
    expect(askedCount()).toBe(1)

    mirror.files.delete(SHORT_LIST.path)
    await pass(DAY_MS)
    expect(askedCount()).toBe(2)
    expect(await list()).toContain('192.0.19.0/24')
    expect(await health()).toEqual({
      name: 'list updates',
      status: 'degraded',
      detail: expect.stringContaining(SHORT_LIST.file),
    })
    await pass(HOUR_MS)
    expect(askedCount()).toBe(2)

    mirror.files.set(SHORT_LIST.path, shortList(1))
    await pass(DAY_MS)
    expect(askedCount()).toBe(3)
    expect(await list()).toContain('192.0.20.0/24')
    expect(await health()).toEqual({
      name: 'list updates',
      status: 'degraded',
      detail: expect.not.stringContaining(SHORT_LIST.file),
    })
  },
  PATIENT_MS,
)

test(
  'an update that throws is logged and tried again in a day, not sooner',
  async () => {
    const db = await openTestDb()
    const clock = { now: Date.parse('2026-11-20T12:00:00Z') }
    let tries = 0
    const update = (): Promise<never> => {
      tries++
      return Promise.reject(new Error('EROFS: read-only file system'))
    }
    const dir = join(await folder(), 'none')
    const { updates, nextWait, goOn } = start({ db, dir, holder: 'one', update }, clock)
    await nextWait()
    for (const [ms, expected] of [
      [2 * HOUR_MS, 1],
      [HOUR_MS, 1],
      [DAY_MS, 2],
    ] as const) {
      clock.now += ms
      goOn()
      await nextWait()
      expect(tries).toBe(expected)
    }
    const detail = expect.stringContaining('read-only file system')
    expect(await updates.health()).toEqual([{ name: 'list updates', status: 'degraded', detail }])
    const later = new Date(clock.now + HOUR_MS)
    await mkdir(dir)
    await noteUpdateEnd(dir, await noteUpdateStart(dir, later), [], later)
    expect(await updates.health()).toMatchObject([{ status: 'ok' }])
    // The duty is released after each update, so that the next process has it at once.
    expect((await db.pool.query(`select name from duties where name = 'lists'`)).rowCount).toBe(0)
  },
  PATIENT_MS,
)

test(
  'with the setting off nothing is updated, and updates of other processes are reported',
  async () => {
    const db = await openTestDb()
    const dir = await folder()
    const day = new Date('2026-11-20T12:00:00Z')
    let now = day.getTime()
    const update = (): Promise<never> => Promise.reject(new Error('not to be called'))
    const updates = createListUpdates({
      db,
      dir,
      mode: 'off',
      holder: 'one',
      log: createLog({ name: 'test', level: 'silent' }),
      update,
      now: () => new Date(now),
      wait: () => Promise.reject(new Error('not to be waited for')),
    })
    await updates.run(new AbortController().signal)
    expect(await updates.health()).toMatchObject([{ status: 'off' }])
    const record = await noteUpdateStart(dir, day)
    await noteUpdateEnd(dir, record, [], day)
    expect(await updates.health()).toMatchObject([{ status: 'ok' }])
    now += 4 * DAY_MS
    expect(await updates.health()).toMatchObject([{ status: 'degraded' }])
    await writeFile(join(dir, 'last-update.json'), '{"startedAt":')
    expect(await updates.health()).toMatchObject([{ status: 'off' }])
  },
  PATIENT_MS,
)
