import { batchView } from '@plumbline/contract/batch-view'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { tmpdir } from 'node:os'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openApiHarness, type ApiHarness } from '@plumbline/testkit/api/harness'

let stack: AsyncDisposableStack
let stage: ApiHarness
let files: string
let key: string
beforeAll(async () => {
  stack = new AsyncDisposableStack()
  files = await mkdtemp(join(tmpdir(), 'plumbline-records-'))
  stack.defer(() => rm(files, { recursive: true, force: true }))
  const FILES_URL = pathToFileURL(files).href
  stage = stack.use(await openApiHarness({ LINE_LIMIT_BYTES: '1000', FILES_URL }))
  key = (await stage.account()).live
})
afterAll(() => stack.disposeAsync())

const LONG = 100_000
const body = (end: string): string =>
  `{"product":"email","start":false,"records":[{"email":"a@b.example","ref":"é\\u20ac"},\n` +
  `{"email":"${'x'.repeat(LONG)}",\n"ref":"${end}"},{"email":null}]}`

/** Sends a body in pieces of a number of bytes, each in a write of its own. */
async function send(
  text: string,
  pieceBytes: number,
  idempotencyKey: string,
): Promise<[number, string]> {
  const { promise, resolve, reject } = Promise.withResolvers<[number, string]>()
  const req = request(`${stage.url}/v1/batches`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'idempotency-key': idempotencyKey,
    },
  })
  req.on('response', (res) => {
    let answer = ''
    res.setEncoding('utf8').on('data', (piece: string) => (answer += piece))
    res.on('end', () => resolve([res.statusCode ?? 0, answer]))
  })
  req.on('error', reject)
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    await new Promise<void>(
      (done) => void req.write(bytes.subarray(at, at + pieceBytes), () => done()),
    )
  }
  req.end()
  return await promise
}

test('an oversized record is stored as a line just over the limit', async () => {
  const [status, text] = await send(body('1'), LONG * 2, 'whole')
  const { id } = batchView.parse(JSON.parse(text))
  const lines = (await readFile(join(files, 'uploads', id), 'utf8')).split('\n')
  expect([status, lines.length]).toEqual([202, 4])
  expect(lines[0]).toBe('{"email":"a@b.example","ref":"é€"}')
  expect(lines[1]).toMatch(/^\{"email":"x{991}$/)
  expect(lines.slice(2)).toEqual(['{"email":null}', ''])
})

test('the same body in other pieces is the same request, and one with another end of a long record is not', async () => {
  const first = await send(body('1'), LONG * 2, 'same')
  // An odd size, so that pieces cut characters of two bytes.
  expect(await send(body('1'), 777, 'same')).toEqual(first)
  expect((await send(body('2'), LONG * 2, 'same'))[0]).toBe(422)
})
