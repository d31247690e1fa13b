import { mkdtemp, readFile, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { openListMirror, SHORT_LIST, shortList, type ListMirror } from './list-mirror-fixture.ts'
import { updateAllInWorker } from './update-in-worker.ts'
import { readUpdateRecord, type UpdateRecord } from './update-record.ts'
import type { UpdateRequest } from './update-worker.ts'

const PATIENT_MS = 60_000
const LOG = { info() {}, warn() {} }

async function folder(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'lists-'))
  onTestFinished(() => rm(dir, { recursive: true }))
  return dir
}

function orderOf(dir: string, mirror: ListMirror): UpdateRequest {
  return {
    dir,
    egressAllow: ['127.0.0.0/8'],
    dnsServers: ['127.0.0.1:9'],
    rdapUrl: `${mirror.url}/rdap.json`,
    cityDb: 'own.mmdb',
    asnDb: 'own.mmdb',
    mirror: mirror.url,
  }
}

test(
  'the thread fetches available sources, reports failed ones, and writes the record of the update',
  async () => {
    await using mirror = await openListMirror()
    mirror.files.set(SHORT_LIST.path, shortList(0))
    const services = [[['test'], ['https://rdap.test/']]]
    mirror.files.set('/rdap.json', JSON.stringify({ version: '1.0', services }))
    const dir = await folder()
    // Left by a process that was killed the day before while it wrote.
    const left = join(dir, `.${SHORT_LIST.file}.${process.pid}.part`)
    await writeFile(left, '# half')
    const yesterday = Date.now() / 1_000 - 86_400
    await utimes(left, yesterday, yesterday)
    const warned: string[] = []
    const log = { ...LOG, warn: (_fields: object, text: string) => void warned.push(text) }
    const updates = await updateAllInWorker(orderOf(dir, mirror), log, new AbortController().signal)
    const came = updates.filter(({ status }) => status === 'updated').map(({ file }) => file)
    expect(came).toEqual([SHORT_LIST.file, 'rdap-dns.json'])
    expect(warned).toHaveLength(updates.length - came.length)
    expect((await readdir(dir)).toSorted()).toEqual([
      SHORT_LIST.file,
      'last-update.json',
      'rdap-dns.json',
      'versions.json',
    ])
    const record = await readUpdateRecord(dir)
    expect(record).toMatchObject({ sourceCount: updates.length, wholeAt: null })
    expect(record?.endedAt).not.toBeNull()
    expect(record?.missing).toHaveLength(warned.length)
    expect(mirror.asked.filter((path) => path.includes('db-ip'))).toEqual([])
  },
  PATIENT_MS,
)

/** Aborts an update while a source is silent, in a folder with a list and its record. */
async function abortedUpdate(reason?: unknown): Promise<{
  readonly ended: unknown
  readonly list: string
  readonly record: UpdateRecord | null
}> {
  await using mirror = await openListMirror()
  mirror.files.set(SHORT_LIST.path, null)
  const dir = await folder()
  await writeFile(join(dir, SHORT_LIST.file), '192.0.2.0/24\n')
  await writeFile(join(dir, 'last-update.json'), JSON.stringify(BEFORE))
  const stop = new AbortController()
  const ended = updateAllInWorker(orderOf(dir, mirror), LOG, stop.signal).catch(() => 'cut')
  await vi.waitUntil(() => mirror.asked.includes(SHORT_LIST.path), PATIENT_MS)
  stop.abort(reason)
  return {
    ended: await ended,
    list: await readFile(join(dir, SHORT_LIST.file), 'utf8'),
    record: await readUpdateRecord(dir),
  }
}

const BEFORE: UpdateRecord = {
  startedAt: '2026-11-27T03:17:00.000Z',
  endedAt: '2026-11-27T03:18:00.000Z',
  wholeAt: '2026-11-27T03:18:00.000Z',
  sourceCount: 25,
  missing: [],
}

test(
  'an update that is stopped while a source is silent ends, and leaves lists and record unchanged',
  async () => {
    const { ended, list, record } = await abortedUpdate()
    expect(ended).toBe('cut')
    expect(list).toBe('192.0.2.0/24\n')
    expect(record).toEqual(BEFORE)
  },
  PATIENT_MS,
)

test(
  'the sources that did not come within the time of an update are missing in its record',
  async () => {
    const { ended, list, record } = await abortedUpdate(new DOMException('late', 'TimeoutError'))
    expect(ended).not.toBe('cut')
    expect(list).toBe('192.0.2.0/24\n')
    expect(record?.missing.map(({ file }) => file)).toContain(SHORT_LIST.file)
    expect(record?.wholeAt).toBe(BEFORE.wholeAt)
  },
  PATIENT_MS,
)

test(
  'a folder that cannot be written is an error that names it',
  async () => {
    await using mirror = await openListMirror()
    const dir = await folder()
    await writeFile(join(dir, 'file'), '')
    const order = orderOf(join(dir, 'file'), mirror)
    await expect(updateAllInWorker(order, LOG, new AbortController().signal)).rejects.toThrow(
      order.dir,
    )
    expect(mirror.asked).toEqual([])
  },
  PATIENT_MS,
)
