import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { EXAMPLES } from '@plumbline/contract/openapi-examples'
import { openApiDocument } from '@plumbline/contract/openapi'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { startService, type Account, type TestService } from '@plumbline/testkit/service'
import { newSecret, signatureOf } from '@plumbline/webhooks/signature'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pythonModule } from '../../infra/clients/python-client.ts'

const run = promisify(execFile)

const stack = new AsyncDisposableStack()
let service: TestService
let account: Account
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'plumbline-description-'))
  stack.defer(() => rm(folder, { recursive: true, force: true }))
  await writeFile(join(folder, 'plumbline.py'), await pythonModule())
  const database = stack.use(await createTestDatabase())
  service = stack.use(
    await startService({ databaseUrl: database.url, workers: [['email', 'batch']] }),
  )
  account = await service.account({ credits: 1_000 })
})
afterAll(() => stack.disposeAsync())

interface Operation {
  readonly operationId: string
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly example?: unknown }>>
  }
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>
}
type Content = Readonly<Record<string, { readonly schema: object; readonly example?: unknown }>>

const document = JSON.parse(JSON.stringify(openApiDocument('')))
const operations = Object.entries<Record<string, Operation>>(document.paths).flatMap(
  ([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, ...operation })),
)

describe('the examples of the description', () => {
  test('exist for every operation that accepts JSON', () => {
    const taking = operations.filter(({ requestBody }) => requestBody?.content['application/json'])
    expect(taking.map(({ operationId }) => operationId).toSorted()).toEqual(
      Object.keys(EXAMPLES).toSorted(),
    )
  })

  test('get responses of the documented form, those of lookups exactly', async () => {
    // Formats are information for readers; what must hold is in patterns.
    const ajv = new Ajv2020({ strict: false, validateFormats: false })
    ajv.addSchema(document, 'openapi')
    const ids = await madeBefore()
    for (const { path, method, operationId, requestBody, responses } of operations) {
      const body = requestBody?.content['application/json']?.example
      if (body === undefined) continue
      const key =
        path.includes('{id}') || operationId.includes('Webhook') ? account.liveKey : account.testKey
      const made = operationId === 'changeBatch' ? ids.ready : ids.ended
      const real = path.replace('{id}', path.includes('webhooks') ? ids.webhook : made)
      const response = await service.call(key, method.toUpperCase(), real, body)
      const said: unknown = await response.json()
      expect([operationId, said, response.ok]).toEqual([operationId, said, true])
      const documented = responses[String(response.status)]
      const pointer = `${pathPointer(path)}/${method}/responses/${response.status}/content/application~1json/schema`
      const isOfShape = ajv.validate({ $ref: `openapi#${pointer}` }, said)
      expect([operationId, isOfShape, ajv.errorsText()]).toEqual([operationId, true, 'No errors'])
      const example = documented?.content?.['application/json']?.example
      if (operationId.startsWith('lookUp'))
        expect([operationId, said]).toEqual([operationId, example])
    }
  })
})

function pathPointer(path: string): string {
  return `/paths/${path.replaceAll('/', '~1').replaceAll('{', '%7B').replaceAll('}', '%7D')}`
}

/** Creates the objects of examples with an id: a completed batch, a batch at `ready`, a webhook endpoint. */
async function madeBefore(): Promise<{ ended: string; ready: string; webhook: string }> {
  const records = [{ email: 'ada@b.example' }]
  const make = async (start: boolean): Promise<string> => {
    const created = await service.call(account.liveKey, 'POST', '/v1/batches', {
      product: 'fraud-signals',
      records,
      start,
      explain: true,
    })
    const { id } = (await created.json()) as { id: string }
    const wanted = start ? 'completed' : 'ready'
    const status = async (): Promise<unknown> => {
      const seen = await service.call(account.liveKey, 'GET', `/v1/batches/${id}`)
      return ((await seen.json()) as { status: unknown }).status
    }
    await expect.poll(status).toBe(wanted)
    return id
  }
  const endpoint = { url: 'https://hooks.example.com/x', events: ['batch.failed'] }
  const created = await service.call(account.liveKey, 'POST', '/v1/webhooks', endpoint)
  const webhook = ((await created.json()) as { id: string }).id
  return { ended: await make(true), ready: await make(false), webhook }
}

/** Runs a script with the module in plain Python: `-I -S` disables all installed packages. */
async function python(
  script: string,
  env: Readonly<Record<string, string>> = {},
): Promise<string[]> {
  const text = `import os, sys\nsys.path.insert(0, ${JSON.stringify(folder)})\n${script}`
  const { stdout } = await run('python3', ['-I', '-S', '-W', 'error', '-c', text], {
    cwd: folder,
    env: {
      PATH: '/usr/bin:/bin',
      PYTHONIOENCODING: 'utf-8',
      URL: service.url,
      KEY: account.liveKey,
      ...env,
    },
  })
  return stdout.trim().split('\n')
}

const OPEN = 'from plumbline import *\nclient = Client(os.environ["URL"], os.environ["KEY"])\n'

describe('the Python module', () => {
  test('has a method for every operation with a key', async () => {
    const names = operations
      .filter(({ path }) => path.startsWith('/v1/'))
      .map(({ operationId }) =>
        operationId.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      )
    const script = `${OPEN}print("\\n".join(name for name in ${JSON.stringify(names)} if not callable(getattr(client, name, None))))`
    expect(await python(script)).toEqual([''])
  })

  test('looks up, uploads a file from a path, waits, and reads rows', async () => {
    const name = 'قائمة "<b>عملاء&amp;".csv'
    const lines = Array.from({ length: 1_000 }, (_, at) => `p${at}@b.example\n`)
    await writeFile(join(folder, name), `email\n${lines.join('')}`)
    const script = `${OPEN}
name = os.environ["NAME"]
print(client.look_up_email(email="bob@b.example")["valid"], client.read_account()["plan"])
batch = client.create_batch(product="email", file=name, max_credits=2000, mapping={"email": "email"}, header=True)
seen = []
batch = client.wait(batch["id"], on_progress=lambda batch: seen.append(batch["progress"]), every_seconds=0.05)
rows = list(client.rows(batch["id"]))
print(batch["status"], batch["file"]["name"], seen[-1], len(rows), [row["row"] for row in rows] == list(range(1, 1001)))
with client.read_results(batch["id"]) as body:
    print(len(body.read().splitlines()))
with open(name, "rb") as opened:
    again = client.create_batch(product="email", file=opened, file_name="again.csv", start=False)
print(client.wait(again["id"], every_seconds=0.05)["status"], client.list_batches(search="again")["data"][0]["file"]["name"])
print(client.delete_batch(again["id"]) if False else client.cancel_batch(again["id"])["status"] in ("canceling", "canceled"))
records = client.create_batch(product="email", records=[{"email": "r@b.example", "ref": "x"}])
print(client.wait(records["id"], every_seconds=0.05)["credits"]["used"])
`
    expect(await python(script, { NAME: name })).toEqual([
      'True pro',
      `completed ${name} 1 1000 True`,
      '1001',
      'ready again.csv',
      'True',
      '1',
    ])
  })

  test('refusals are classes, redirects are not followed, and a broken call is repeated with its key', async () => {
    const keys: (string | undefined)[] = []
    let redirected = 0
    const server = createServer((req, res) => {
      if (req.url === '/v1/account') {
        res.writeHead(302, { location: `http://127.0.0.1:${port}/stolen` }).end()
        return
      }
      if (req.url === '/stolen') redirected += 1
      keys.push(req.headers['idempotency-key']?.toString())
      if (keys.length === 1) req.socket.destroy()
      else if (keys.length === 2)
        res.writeHead(503, { 'retry-after': '0' }).end('{"error":"x","message":"y"}')
      else res.writeHead(200, { 'content-type': 'application/json' }).end('{"valid":true}')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    // Safe because it listens on a port.
    const { port } = server.address() as AddressInfo
    const script = `${OPEN}
for call in (lambda: client.read_batch("bat_nothing"), lambda: client.look_up_phone(phone="123")):
    try:
        call()
    except RefusedError as error:
        print(type(error).__name__, error.status, error.request_id is not None)
other = Client("http://127.0.0.1:${port}", "svc_live_x")
print(other.look_up_email(email="x")["valid"])
try:
    other.read_account()
except RefusedError as error:
    print(error.status)
try:
    Client("http://127.0.0.1:2", "x", retries=1).read_account()
except ConnectionFailed as error:
    print("refused" in str(error))
`
    expect(await python(script)).toEqual([
      'NotFoundError 404 True',
      'BadRequestError 400 True',
      'True',
      '302',
      'True',
    ])
    server.close()
    expect(redirected).toBe(0)
    expect(new Set(keys).size).toBe(1)
    expect(keys).toHaveLength(3)
  })

  test('a response that breaks off between two lines is no whole one', async () => {
    const asked: string[] = []
    const server = createServer((req, res) => {
      asked.push(req.url ?? '')
      const isLength = req.url?.includes('/usage') === true
      res.writeHead(200, {
        'content-type': 'application/x-ndjson',
        ...(isLength ? { 'content-length': '24' } : {}),
      })
      const isSecond = req.url?.endsWith('after=1') === true
      if (isSecond) res.end('{"row":2}\n')
      else res.write('{"row":1}\n', () => req.socket.end())
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    // Safe because it listens on a port.
    const { port } = server.address() as AddressInfo
    const script = `${OPEN}
other = Client("http://127.0.0.1:${port}", "svc_live_x")
print([row["row"] for row in other.rows("bat_1")])
for ask in (lambda: other.read_results("bat_1"), lambda: other.read_usage(format="csv")):
    try:
        with ask() as body:
            print(len(list(body)))
    except http.client.IncompleteRead as error:
        print(type(error).__name__, body.status, body.headers["Content-Type"])
`
    const cut = 'IncompleteRead 200 application/x-ndjson'
    expect(await python(script)).toEqual(['[1, 2]', cut, cut])
    expect(asked.filter((path) => path.includes('ndjson'))).toHaveLength(2)
    server.close()
  })

  test('gives a wait for a lookup its time beyond the time-out of a call', async () => {
    const server = createServer((_req, res) => {
      setTimeout(() => {
        res.writeHead(200, { 'content-type': 'application/json' }).end('{"status":"running"}')
      }, 1_000)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    // Safe because it listens on a port.
    const { port } = server.address() as AddressInfo
    const script = `${OPEN}
other = Client("http://127.0.0.1:${port}", "svc_live_x", timeout=0.5, retries=0)
print(other.read_lookup("lkp_1", wait=1)["status"])
try:
    other.read_lookup("lkp_1")
except ConnectionFailed as error:
    print("timed out" in str(error))
`
    expect(await python(script)).toEqual(['running', 'True'])
    server.close()
  })

  test('verifies webhooks', async () => {
    const secret = newSecret()
    const body = '{"type":"webhook.test","timestamp":"2026-11-22T10:00:00.000Z","data":{"id":"ü"}}'
    const timestamp = Math.floor(Date.now() / 1_000)
    const signature = signatureOf([newSecret(), secret], { id: 'msg_1', timestamp, body })
    const script = `
import json
from plumbline import verify_webhook
headers = {"webhook-id": "msg_1", "webhook-timestamp": "${timestamp}", "webhook-signature": "${signature}"}
body = ${JSON.stringify(body)}
print(verify_webhook("${secret}", headers, body)["data"]["id"])
for wrong in (body + " ", ):
    try:
        verify_webhook("${secret}", headers, wrong)
    except ValueError as error:
        print(error)
try:
    verify_webhook("${secret}", {**headers, "webhook-timestamp": "1"}, body)
except ValueError as error:
    print(error)
`
    expect(await python(script)).toEqual([
      'ü',
      'the message is not signed by the secret of this endpoint',
      'the message is too old or too new',
    ])
  })
})
