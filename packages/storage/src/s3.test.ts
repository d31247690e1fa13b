import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { access, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer, text } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { startS3, type S3Server } from '@plumbline/test/simnet/s3/server.ts'
import { claimStore } from './marker.ts'
import { openStorage } from './open.ts'
import { openStoreConnections } from './s3-request.ts'
import type { Storage } from './storage.ts'

const KEYS = {
  accessKeyId: 'AKIAEXAMPLE',
  secretAccessKey: 'a/secret+of=ours',
  region: 'eu-test-1',
}

let dir: string
let server: S3Server
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'plumbline-s3-'))
  server = await startS3({ ...KEYS, bucket: 'lists' })
  vi.stubEnv('AWS_ACCESS_KEY_ID', KEYS.accessKeyId)
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', KEYS.secretAccessKey)
  vi.stubEnv('AWS_REGION', KEYS.region)
  vi.stubEnv('AWS_ENDPOINT_URL_S3', server.url)
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await server[Symbol.asyncDispose]()
  await rm(dir, { recursive: true, force: true })
})

async function open(url = 's3://lists/plumb/line'): Promise<Storage> {
  return await openStorage({ url, scratchDir: join(dir, 'scratch') })
}

async function fileOf(content: string | Buffer): Promise<string> {
  const path = join(dir, 'upload')
  await writeFile(path, content)
  return path
}

test('a file is read back unchanged, and removed where it was', async () => {
  await using storage = await open()
  const path = await fileOf('email\na@b.example\n')
  await storage.put('uploads/bat_1', path)
  await expect(access(path)).rejects.toThrow('ENOENT')
  expect([...server.objects.keys()]).toEqual(['plumb/line/uploads/bat_1'])
  expect(await text(await storage.open('uploads/bat_1'))).toBe('email\na@b.example\n')
  const copy = await storage.local('uploads/bat_1')
  expect(await readFile(copy.path, 'utf8')).toBe('email\na@b.example\n')
  await copy.release()
  expect(await readdir(join(dir, 'scratch'))).toEqual([])
})

test.each(['s3://lists/my files/größe', 's3://lists/my%20files/gr%C3%B6%C3%9Fe/'])(
  'keys begin with the prefix of %s, decoded',
  async (url) => {
    await using storage = await open(url)
    await storage.put('uploads/bat_1', await fileOf('x'))
    expect([...server.objects.keys()]).toEqual(['my files/größe/uploads/bat_1'])
    expect(await text(await storage.open('uploads/bat_1'))).toBe('x')
    for await (const page of storage.list('uploads')) {
      expect(page).toMatchObject([{ key: 'uploads/bat_1' }])
    }
    await storage.remove(['uploads/bat_1'])
    expect(server.objects.size).toBe(0)
  },
)

test('a store at the encoded prefix is not left behind, and can be named', async () => {
  server.objects.set('my%20files/installation', Buffer.from('ins_first\n'))
  server.objects.set('my%20files/uploads/bat_1', Buffer.from('x'))
  await expect(open('s3://lists/my files')).rejects.toThrow('the prefix of FILES_URL')
  await using storage = await open('s3://lists/my%2520files')
  expect(await text(await storage.open('uploads/bat_1'))).toBe('x')
})

test('a large file is uploaded in parts and read back unchanged', async () => {
  await using storage = await open('s3://lists')
  const content = randomBytes(13 * 1_048_576)
  await storage.put('uploads/bat_1', await fileOf(content))
  const back = await buffer(await storage.open('uploads/bat_1'))
  expect(sha256(back)).toBe(sha256(content))
  expect(server.openUploads.size).toBe(0)
})

test('a file written in pieces is uploaded in parts as they fill, and leaves none if it is not completed', async () => {
  await using storage = await open('s3://lists')
  const pieces = Array.from({ length: 40 }, () => randomBytes(512 * 1_024 + 1))
  {
    await using file = await storage.create('results/bat_1')
    for (const piece of pieces) await file.write(piece)
    expect([...server.openUploads.values()].map(({ key }) => key)).toEqual(['results/bat_1'])
    expect(server.objects.size).toBe(0)
    await file.end()
  }
  expect(sha256(await buffer(await storage.open('results/bat_1')))).toBe(
    sha256(Buffer.concat(pieces)),
  )
  {
    await using given = await storage.create('results/bat_2')
    for (const piece of pieces) await given.write(piece)
  }
  {
    await using small = await storage.create('results/bat_3')
    await small.write(Buffer.from('email\n'))
    await small.end()
  }
  expect([...server.objects.keys()]).toEqual(['results/bat_1', 'results/bat_3'])
  server.brokenParts = Infinity
  const broken = async (): Promise<void> => {
    await using file = await storage.create('results/bat_4')
    for (const piece of pieces) await file.write(piece)
    await file.end()
  }
  await expect(broken()).rejects.toThrow('InternalError')
  expect(server.openUploads.size).toBe(0)
})

test('a file that is disposed while a write begins its upload leaves no parts', async () => {
  await using storage = await open('s3://lists')
  const reached = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  server.beforeUpload = async () => {
    reached.resolve()
    await released.promise
  }
  const file = await storage.create('results/bat_1')
  const written = file.write(randomBytes(20 * 1_048_576))
  written.catch(() => undefined)
  await reached.promise
  const disposed = file[Symbol.asyncDispose]()
  released.resolve()
  await disposed
  await expect(written).rejects.toThrow('was closed')
  expect(server.openUploads.size).toBe(0)
})

test('a multipart upload that fails leaves no part behind, and keeps the local file', async () => {
  await using storage = await open('s3://lists')
  const path = await fileOf(randomBytes(20 * 1_048_576))
  server.brokenParts = Infinity
  await expect(storage.put('uploads/bat_1', path)).rejects.toThrow('InternalError')
  expect(server.openUploads.size).toBe(0)
  expect(server.objects.size).toBe(0)
  await access(path)
})

test('a file is stored although the reply to its completion was lost', async () => {
  await using storage = await open('s3://lists')
  server.lostCompletions = 1
  const content = randomBytes(9 * 1_048_576)
  await storage.put('uploads/bat_1', await fileOf(content))
  expect(sha256(await buffer(await storage.open('uploads/bat_1')))).toBe(sha256(content))
})

test('an upload that was aborted by somebody else is an error, though its key has a file', async () => {
  await using storage = await open('s3://lists')
  const content = randomBytes(9 * 1_048_576)
  server.objects.set('results/bat_1', content)
  await using file = await storage.create('results/bat_1')
  await file.write(content)
  await storage.dropParts('results', { before: new Date(Date.now() + 1_000), isOurs: () => true })
  await expect(file.end()).rejects.toThrow('NoSuchUpload')
})

test('uploads that a killed process left are aborted in pages, but neither recent ones nor those of others', async () => {
  await using storage = await open()
  const hoursAgo = (hours: number): Date => new Date(Date.now() - hours * 3_600_000)
  for (let no = 0; no < 5; no += 1) server.leaveUpload(`plumb/line/uploads/bat_${no}`, hoursAgo(25))
  // Two with one key, as two attempts leave them.
  server.leaveUpload('plumb/line/uploads/bat_1', hoursAgo(30))
  server.leaveUpload('plumb/line/uploads/bat_9', hoursAgo(1))
  server.leaveUpload('plumb/line/uploads/notes', hoursAgo(25))
  server.leaveUpload('plumb/line/results/bat_1', hoursAgo(25))
  server.leaveUpload('other/uploads/bat_1', hoursAgo(25))
  server.uploadsListed = 2
  const wanted = {
    before: hoursAgo(24),
    isOurs: (key: string) => key.startsWith('uploads/bat_'),
  }
  const stopped = storage.dropParts('uploads', { ...wanted, signal: AbortSignal.abort() })
  await expect(stopped).rejects.toThrow('aborted')
  expect(server.openUploads.size).toBe(10)
  expect(await storage.dropParts('uploads', wanted)).toBe(6)
  expect([...server.openUploads.values()].map(({ key }) => key)).toEqual([
    'plumb/line/uploads/bat_9',
    'plumb/line/uploads/notes',
    'plumb/line/results/bat_1',
    'other/uploads/bat_1',
  ])
})

test('of two processes that abort uploads at once each is counted by one, and neither fails', async () => {
  await using first = await open()
  await using second = await open()
  const before = new Date()
  for (let no = 0; no < 5; no += 1) server.leaveUpload(`plumb/line/uploads/bat_${no}`, new Date(0))
  const counts = await Promise.all(
    [first, second].map((storage) => storage.dropParts('uploads', { before, isOurs: () => true })),
  )
  expect(counts.reduce((sum, count) => sum + count)).toBe(5)
  expect(server.openUploads.size).toBe(0)
})

test('requests to a store whose clock is ahead are signed by its clock', async () => {
  await using storage = await open()
  server.aheadMs = 3_600_000
  await storage.put('uploads/bat_1', await fileOf('x'))
  expect(server.objects.size).toBe(1)
})

test('credentials that have expired by the clock of the store are fetched again', async () => {
  let lent = 0
  // A service of credentials and a store in one, both an hour ahead of us.
  const ahead = createServer((req, res) => {
    if (req.url === '/role') {
      lent += 1
      const Expiration = new Date(Date.now() + 2 * 3_600_000).toISOString()
      res.end(
        JSON.stringify({ AccessKeyId: 'A', SecretAccessKey: 's', Token: `no${lent}`, Expiration }),
      )
      return
    }
    const isLive = req.headers['x-amz-security-token'] === 'no2'
    res.statusCode = isLive ? 200 : 400
    res.end(isLive ? 'x' : '<Error><Code>ExpiredToken</Code></Error>')
  })
  ahead.listen(0, '127.0.0.1')
  await once(ahead, 'listening')
  try {
    const address = ahead.address()
    if (address === null || typeof address === 'string') throw new Error('no port was given')
    const url = `http://127.0.0.1:${address.port}`
    vi.stubEnv('AWS_ACCESS_KEY_ID', '')
    vi.stubEnv('HOME', dir)
    vi.stubEnv('AWS_CONTAINER_CREDENTIALS_FULL_URI', `${url}/role`)
    vi.stubEnv('AWS_ENDPOINT_URL_S3', url)
    await using storage = await open('s3://lists')
    const read = async (): Promise<string> => await text(await storage.open('uploads/bat_1'))
    expect(await Promise.all([read(), read(), read()])).toEqual(['x', 'x', 'x'])
    expect(await read()).toBe('x')
    expect(lent).toBe(2)
  } finally {
    ahead.closeAllConnections()
    ahead.close()
  }
})

test('an empty file is stored', async () => {
  await using storage = await open()
  await storage.put('results/bat_1', await fileOf(''))
  expect(await text(await storage.open('results/bat_1'))).toBe('')
})

test('a missing file cannot be opened, and can be removed', async () => {
  await using storage = await open()
  await expect(storage.open('uploads/none')).rejects.toThrow('NoSuchKey')
  await storage.remove(['uploads/none'])
})

test('many files are listed in bounded pages, each once, while they are being removed', async () => {
  await using storage = await open()
  for (let no = 0; no < 1_500; no += 1) server.objects.set(`plumb/line/uploads/${no}`, EMPTY)
  server.objects.set('plumb/line/results/1', EMPTY)
  server.objects.set('other/uploads/1', EMPTY)
  const listedKeys = new Set<string>()
  for await (const page of storage.list('uploads')) {
    expect(page.length).toBeLessThanOrEqual(1_000)
    for (const { key, storedAt } of page) {
      expect(Date.now() - storedAt.getTime()).toBeLessThan(60_000)
      listedKeys.add(key)
    }
    await storage.remove(page.slice(0, 100).map(({ key }) => key))
  }
  expect(listedKeys.size).toBe(1_500)
  expect([...listedKeys].every((key) => /^uploads\/\d+$/.test(key))).toBe(true)
  expect(server.objects.size).toBe(1_302)
})

test('names with a prefix are listed from a given one on, over several pages', async () => {
  await using storage = await open()
  for (let no = 1_000; no < 3_500; no += 1) {
    for (const prefix of ['bat', 'lkp']) {
      server.objects.set(`plumb/line/uploads/${prefix}_${no}`, EMPTY)
    }
  }
  const listedKeys: string[] = []
  for await (const page of storage.list('uploads', { prefix: 'bat_', after: 'bat_2' })) {
    listedKeys.push(...page.map(({ key }) => key))
  }
  expect([listedKeys.length, listedKeys[0], listedKeys.at(-1)]).toEqual([
    1_500,
    'uploads/bat_2000',
    'uploads/bat_3499',
  ])
})

test('a request to a store that is briefly busy is repeated', async () => {
  await using storage = await open()
  server.busy = 2
  await storage.put('uploads/bat_1', await fileOf('x'))
  expect(server.objects.size).toBe(1)
})

test('wrong credentials are refused, and the local file is kept', async () => {
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'another')
  await using storage = await open()
  const path = await fileOf('x')
  await expect(storage.put('uploads/bat_1', path)).rejects.toThrow('SignatureDoesNotMatch')
  await access(path)
})

test('a download that breaks off is an error and leaves no file', async () => {
  await using storage = await open()
  server.objects.set('plumb/line/uploads/bat_1', randomBytes(300_000))
  server.cuts = 1
  await expect(storage.local('uploads/bat_1')).rejects.toThrow('aborted')
  expect(await readdir(join(dir, 'scratch'))).toEqual([])
})

test('a store belongs to the installation that marks it first, and others learn that', async () => {
  await using storage = await open()
  await mkdir(join(dir, 'scratch'), { recursive: true })
  const claim = (id: string) => claimStore(storage, { id, scratchDir: join(dir, 'scratch') })
  expect(await claim('ins_first')).toEqual({ kind: 'ours' })
  expect(server.objects.get('plumb/line/installation')?.toString()).toBe('ins_first\n')
  expect(await claim('ins_second')).toEqual({ kind: 'foreign', owner: 'ins_first' })
  expect(await claim('ins_first')).toEqual({ kind: 'ours' })
  server.objects.set('plumb/line/installation', randomBytes(1_000_000))
  expect(await claim('ins_first')).toMatchObject({ kind: 'foreign' })
  expect(await readdir(join(dir, 'scratch'))).toEqual([])
})

test('a store that accepts a connection and does not reply is given up', async () => {
  const silent = createServer(() => {})
  silent.listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const address = silent.address()
  if (address === null || typeof address === 'string') throw new Error('no port was given')
  using connections = openStoreConnections({ connectMs: 5_000, replyMs: 50, idleMs: 50 })
  const url = new URL(`http://127.0.0.1:${address.port}/`)
  const sent = connections.send({ method: 'GET', url, headers: {}, body: Buffer.alloc(0) })
  await expect(sent).rejects.toThrow('did not reply within')
  silent.closeAllConnections()
  silent.close()
})

const EMPTY = Buffer.alloc(0)

function sha256(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex')
}
