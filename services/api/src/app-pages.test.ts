import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliDecompressSync } from 'node:zlib'
import { Problem } from '@plumbline/contract/problem'
import express, { type ErrorRequestHandler } from 'express'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { mountAppPages } from './app-pages.ts'
import { openRequestContext } from './request-context.ts'
import { problemOf, sendProblem } from './response.ts'

const SCRIPT = 'console.log("a script of the app")\n'.repeat(50)

let url: string
const stack = new AsyncDisposableStack()
beforeAll(async () => {
  const dir = await mkdtemp(join(tmpdir(), 'plumbline-web-'))
  stack.defer(() => rm(dir, { recursive: true, force: true }))
  await mkdir(join(dir, 'assets'))
  await writeFile(join(dir, 'index.html'), '<!doctype html><title>the app</title>')
  await writeFile(join(dir, 'assets/main-AbCd1234.js'), SCRIPT)
  await writeFile(join(dir, 'icon.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>')
  await writeFile(join(dir, '.env'), 'SECRET=1')
  const app = express()
  app.use((_req, res, next) => {
    openRequestContext(res)
    next()
  })
  mountAppPages(app, dir)
  app.use(() => {
    throw new Problem('not_found', 'nothing here')
  })
  const refuse: ErrorRequestHandler = (error: unknown, _req, res, _next) =>
    sendProblem(res, problemOf(error))
  app.use(refuse)
  const server = createServer(app).listen(0, '127.0.0.1')
  await once(server, 'listening')
  stack.defer(() => void server.close())
  // Safe because it listens on TCP.
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => stack.disposeAsync())

/** Sends a request without following redirects or decompressing, as `fetch` would. */
async function ask(
  path: string,
  headers: Record<string, string> = {},
): Promise<IncomingMessage & { body: Buffer }> {
  const answered = Promise.withResolvers<IncomingMessage>()
  get(`${url}${path}`, { headers, agent: false }, answered.resolve).once('error', answered.reject)
  const res = await answered.promise
  const chunks: Buffer[] = []
  for await (const chunk of res) chunks.push(Buffer.from(chunk as Uint8Array))
  return Object.assign(res, { body: Buffer.concat(chunks) })
}

test('the root redirects to the app', async () => {
  const { statusCode, headers } = await ask('/')
  expect([statusCode, headers.location]).toEqual([302, '/app'])
})

test.each(['/app', '/app/', '/app/keys', '/app/batches/bat_123'])(
  'the page is served at %s, is not cached, and may load nothing from other hosts and nothing inline',
  async (path) => {
    const { statusCode, headers, body } = await ask(path)
    expect([statusCode, headers['cache-control']]).toEqual([200, 'no-store'])
    expect(body.toString()).toContain('the app')
    const policy = headers['content-security-policy'] ?? ''
    expect(policy).toContain("script-src 'self';")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toContain('unsafe')
    expect(headers['x-content-type-options']).toBe('nosniff')
  },
)

test('a file with a digest in its name is cached for ever and sent compressed', async () => {
  const { headers, body } = await ask('/app/assets/main-AbCd1234.js', {
    'accept-encoding': 'gzip, br',
  })
  expect(headers).toMatchObject({
    'cache-control': 'public, max-age=31536000, immutable',
    'content-encoding': 'br',
    'content-type': 'text/javascript; charset=utf-8',
    vary: 'Accept-Encoding',
  })
  expect(body.length).toBeLessThan(SCRIPT.length / 5)
  expect(brotliDecompressSync(body).toString()).toBe(SCRIPT)
  expect((await ask('/app/assets/main-AbCd1234.js')).body.toString()).toBe(SCRIPT)
})

test.each([
  '/app/assets/gone-AbCd1234.js',
  '/app/.env',
  '/app/..%2f..%2fpackage.json',
  '/app/%2e%2e/%2e%2e/package.json',
  '/app/api/none',
  '/app/api',
])('%s is no file of the app', async (path) => {
  const { statusCode, headers } = await ask(path)
  expect([statusCode, headers['content-type']]).toEqual([404, 'application/json; charset=utf-8'])
})
