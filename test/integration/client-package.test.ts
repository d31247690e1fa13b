import { execFile } from 'node:child_process'
import { mkdir, mkdtempDisposable, readdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { startService, type Account, type TestService } from '@plumbline/testkit/service'
import { newSecret, signatureOf } from '@plumbline/webhooks/signature'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildJavaScriptClient } from '../../infra/clients/javascript-client.ts'
import { ROOT } from '../../infra/run.ts'

const run = promisify(execFile)

const stack = new AsyncDisposableStack()
let service: TestService
let account: Account
/** A folder outside of the project, where only the package is installed, as at a customer's. */
let folder: string

beforeAll(async () => {
  const work = stack.use(await mkdtempDisposable(join(tmpdir(), 'plumbline-client-'))).path
  const database = stack.use(await createTestDatabase())
  const [started] = await Promise.all([
    startService({ databaseUrl: database.url, workers: [['email', 'batch']] }),
    installPackage(work),
  ])
  service = stack.use(started)
  folder = join(work, 'customer')
  account = await service.account({ credits: 1_000 })
})
afterAll(() => stack.disposeAsync())

async function installPackage(work: string): Promise<void> {
  const built = join(work, 'built')
  await buildJavaScriptClient(built)
  await mkdir(join(work, 'customer'))
  await writeFile(join(work, 'customer/package.json'), '{"private":true,"type":"module"}')
  const pack = ['pack', '--silent', '--pack-destination', work]
  const { stdout } = await run('npm', pack, { cwd: built })
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', join(work, stdout.trim())], {
    cwd: join(work, 'customer'),
  })
}

async function runScript(
  name: string,
  text: string,
  flags: readonly string[] = [],
): Promise<string> {
  await writeFile(join(folder, name), text)
  const { stdout } = await run(process.execPath, [...flags, name], {
    cwd: folder,
    env: { PLUMBLINE_URL: service.url, PLUMBLINE_KEY: account.liveKey },
  })
  return stdout
}

async function examples(): Promise<readonly string[]> {
  const text = await readFile(join(folder, 'node_modules/@plumbline/client/README.md'), 'utf8')
  return [...text.matchAll(/```js\n(.*?)```/gs)].map(([, code = '']) => code)
}

test('the package needs no other, and says so', async () => {
  expect(await readdir(join(folder, 'node_modules'))).toEqual(['.package-lock.json', '@plumbline'])
  const manifest = await readFile(
    join(folder, 'node_modules/@plumbline/client/package.json'),
    'utf8',
  )
  expect(JSON.parse(manifest)).not.toHaveProperty('dependencies')
})

test('the example of its README runs', async () => {
  await writeFile(join(folder, 'list.csv'), 'email\nada@b.example\nbob@b.example\n')
  const [first = ''] = await examples()
  const lines = (await runScript('example.js', first)).trim().split('\n')
  expect(lines[0]).toBe('{ valid: false, disposable: false }')
  expect(lines).toContain('100 %')
  expect(lines.slice(-4)).toEqual([
    expect.stringMatching(/^completed \{ deliverable: /),
    '1 ada@b.example false',
    '2 bob@b.example true',
    expect.stringMatching(/^404 There is no /),
  ])
})

test('its types need no other package, and are correct', async () => {
  const [first = ''] = await examples()
  const typed = first
    .replace('import { createClient', 'import { type ResultRow, createClient')
    .replaceAll(/process\.env\.(\w+)/g, "'$1'")
    .replace('of client.batches.rows(batch.id)', "of client.batches.rows<'email'>(batch.id)")
    .replace('input.email', 'String(input)')
  const checks = `
const row: ResultRow<'email'> | undefined = undefined
// @ts-expect-error a product takes its own field
await client.phone({ email: 'x' })
// @ts-expect-error a result has no such field
console.log(row, (await client.email({ email: 'x' })).carrier)
`
  await writeFile(join(folder, 'typed.ts'), typed + checks)
  const flags = ['--strict', '--noEmit', '--exactOptionalPropertyTypes', '--module', 'nodenext']
  const lib = ['--target', 'es2022', '--lib', 'es2022,dom,dom.asynciterable', '--types', '']
  const tsc = join(ROOT, 'node_modules/.bin/tsc')
  const checked = run(tsc, [...flags, ...lib, 'typed.ts'], { cwd: folder }).catch(
    ({ stdout }: { stdout: string }) => ({ stdout }),
  )
  expect((await checked).stdout).toBe('')
})

/** Removes features that Node 18 lacks before the package is loaded. */
const OLD_NODE = `
delete globalThis.crypto
delete globalThis.navigator
delete AbortSignal.any
delete ReadableStream.from
delete Promise.withResolvers
delete URL.canParse
delete URLSearchParams.prototype.size
if (globalThis.crypto !== undefined) throw new Error('this Node keeps its crypto')
`

const EVERY_WAY = `
import { createReadStream } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { createClient, ConnectionError, NotFoundError } from '@plumbline/client'

const client = createClient({ baseUrl: process.env.PLUMBLINE_URL, key: process.env.PLUMBLINE_KEY })
const name = 'قائمة "<b>عملاء&amp;".csv'
const rows = Array.from({ length: 2000 }, (_, at) => \`a\${at}@b.example\`)
await writeFile(name, ['email', ...rows].join('\\n'))
async function names(batch) {
  const { id, status } = await client.batches.wait(batch.id)
  const read = []
  for await (const { row, result } of client.batches.rows(id)) read.push([row, result.email])
  const whole = read.every(([row, email], at) => row === at + 1 && email === rows[at])
  return [status, batch.file.name, batch.file.bytes, read.length, whole].join(' ')
}
const sources = {
  path: { path: name },
  stream: { file: createReadStream(name), fileName: name },
  web: { file: new Blob([rows.map((row) => row + '\\n').join('')]).stream(), fileName: 'web.csv' },
  blob: { file: new Blob([rows.map((row) => row + '\\n').join('')]), fileName: 'blob.csv' },
}
for (const [kind, source] of Object.entries(sources)) {
  console.log(kind, await names(await client.batches.create({ product: 'email', ...source })))
}
const begun = await client.batches.create({ product: 'email', records: [{ email: 'c@b.example', ref: 'x' }] })
for await (const { ref, status } of client.batches.rows(begun.id, { follow: true, everyMs: 50 })) console.log(ref, status)
const gone = await client.batches.get('bat_nothing').catch((error) => error)
console.log(gone instanceof NotFoundError, gone.name, typeof gone.requestId)
const away = createClient({ baseUrl: 'http://127.0.0.1:2', key: 'svc_live_x', retries: 1 })
const missed = await away.account().catch((error) => error)
console.log(missed instanceof ConnectionError, missed.message.includes('ECONNREFUSED'))
`

test('uploads from a path, streams and a Blob, and follows rows, with the features of Node 18', async () => {
  await writeFile(join(folder, 'old-node.js'), OLD_NODE)
  const printed = await runScript('every-way.js', EVERY_WAY, ['--import', './old-node.js'])
  const name = 'قائمة "<b>عملاء&amp;".csv'
  expect(printed.trim().split('\n')).toEqual([
    `path completed ${name} 30895 2000 true`,
    `stream completed ${name} 30895 2000 true`,
    'web completed web.csv 30890 2000 true',
    'blob completed blob.csv 30890 2000 true',
    'x done',
    'true NotFoundError string',
    'true true',
  ])
})

test('verifies webhooks by the second example, with headers of Node and of fetch', async () => {
  const [, receiver = ''] = await examples()
  const secret = newSecret()
  const body =
    '{"type":"batch.completed","timestamp":"2026-11-22T10:00:00.000Z","data":{"id":"bat_1"}}'
  const timestamp = Math.floor(Date.now() / 1_000)
  const headers = {
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatureOf([secret], { id: 'msg_1', timestamp, body }),
  }
  await writeFile(join(folder, 'receiver.js'), receiver)
  const use = `
import { receive } from './receiver.js'
const [secret, headers, body] = ${JSON.stringify([secret, headers, body])}
console.log(await receive(secret, headers, body))
console.log(await receive(secret, new Headers(headers), body))
console.log(await receive(secret, headers, body + ' ').catch(({ message }) => message))
console.log(await receive(secret, { ...headers, 'webhook-signature': 'v1,***' }, body).catch(({ message }) => message))
`
  expect(
    (await runScript('verify.js', use, ['--import', './old-node.js'])).trim().split('\n'),
  ).toEqual([
    'batch.completed of bat_1',
    'batch.completed of bat_1',
    'the message is not signed by the secret of this endpoint',
    'the message is not signed by the secret of this endpoint',
  ])
})
