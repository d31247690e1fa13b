import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { findService, openServiceClient, openServiceDatabase } from './service.ts'
import { cliSettings } from './settings.ts'

let dir: string
let server: Server
let url: string

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'plumbline-cli-'))
  server = createServer((req, res) => {
    if (req.url === '/healthz') res.setHeader('X-Request-Id', 'x')
    res.end('{"status":"ok"}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server has no port')
  url = `http://127.0.0.1:${address.port}`
})
afterEach(async () => {
  server.close()
  server.closeAllConnections()
  await rm(dir, { recursive: true, force: true })
})

const FACTS = { databaseUrl: 'postgres://file', redisUrl: null, keyPrefix: 'acme' }
const SET = {
  API_URL: 'http://api.example',
  DATABASE_URL: 'postgres://set',
  REDIS_URL: 'redis://set',
}

async function writeFacts(pid: number): Promise<void> {
  await writeFile(
    join(dir, 'service.json'),
    JSON.stringify({ ...FACTS, url, pid, adminUrl: 'http://127.0.0.1:9090' }),
  )
}

function endedPid(): number {
  return spawnSync(process.execPath, ['--version']).pid
}

test('a service that runs on the data directory takes precedence over the settings', async () => {
  await writeFacts(process.pid)
  const place = await findService(cliSettings({ DATA_DIR: dir, ...SET }))
  expect(place).toEqual({ dataDir: dir, url, ...FACTS, stale: false })
})

test('the file of an ended service is ignored in favour of the settings', async () => {
  await writeFacts(endedPid())
  expect(await findService(cliSettings({ DATA_DIR: dir, ...SET }))).toEqual({
    dataDir: dir,
    url: 'http://api.example',
    databaseUrl: 'postgres://set',
    redisUrl: 'redis://set',
    keyPrefix: 'svc',
    stale: true,
  })
})

test('a process with the pid of an ended service is not taken for it', async () => {
  await writeFacts(process.pid)
  const settings = cliSettings({ DATA_DIR: dir, ...SET })
  // Another program at the address, then none.
  server.removeAllListeners('request').on('request', (_req, res) => res.end('hello'))
  expect(await findService(settings)).toMatchObject({ stale: true, url: 'http://api.example' })
  server.close()
  server.closeAllConnections()
  await once(server, 'close')
  expect(await findService(settings)).toMatchObject({ stale: true, url: 'http://api.example' })
})

test('without service and settings the message names both remedies', async () => {
  const environment = { DATA_DIR: dir }
  await expect(openServiceDatabase(environment)).rejects.toThrow(
    `No service runs on ${dir} and DATABASE_URL is not set; run "npm start", or set DATABASE_URL.`,
  )
  await expect(openServiceClient(environment, 'k')).rejects.toThrow('API_URL is not set')
  await writeFacts(endedPid())
  await expect(openServiceClient(environment, 'k')).rejects.toThrow(
    `The service of ${dir} has ended`,
  )
})

test('a damaged service file is refused, not guessed at', async () => {
  await writeFile(join(dir, 'service.json'), '{"pid": 1')
  await expect(findService(cliSettings({ DATA_DIR: dir }))).rejects.toThrow('is damaged')
})

test('calls need a key of printable characters', async () => {
  const environment = { DATA_DIR: dir, API_URL: 'http://api.example' }
  await expect(openServiceClient(environment, undefined)).rejects.toThrow('No API key was given')
  await expect(openServiceClient(environment, 'svc_live_\u2026')).rejects.toThrow('copy it again')
  const set = { ...environment, PLUMBLINE_KEY: 'k' }
  expect(await openServiceClient(set, undefined)).toBeDefined()
})

test('all malformed settings are reported together', () => {
  expect(() => cliSettings({ API_URL: 'ftp://x', KEY_PREFIX: 'S V' })).toThrow(
    /API_URL[^]*KEY_PREFIX/,
  )
})
