import { revokeKey } from '@plumbline/db/keys'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openApiHarness, type ApiHarness } from '@plumbline/testkit/api/harness'
import { callRaw } from '@plumbline/testkit/api/raw-client'

const MIB = 1_048_576
/** More bytes than the sockets of both ends buffer: by default of Linux 32 MiB and 4 MiB. */
const MANY = 40 * MIB
/**
 * Limit of a file: a little above `MANY`, so that the body is refused for another reason than its
 * size.
 */
const LIMIT = 44 * MIB
/** Two clients for each refusal: one reads while it sends, one after it has sent everything. */
const READS = ['along', 'after'] as const

let stage: ApiHarness
let rich: string
let poor: string
beforeAll(async () => {
  stage = await openApiHarness({
    UPLOAD_LIMIT_BYTES: String(LIMIT),
    FAILED_KEYS_PER_MINUTE: String(READS.length),
    RATE_LIMIT_PER_SECOND: '1000',
    RATE_LIMIT_BURST: '1000',
  })
  rich = (await stage.account()).live
  poor = (await stage.account({ credits: 0 })).live
})
afterAll(() => stage[Symbol.asyncDispose]())

const FORM = 'Content-Type: multipart/form-data; boundary=b\r\n'
const part = (disposition: string): string =>
  `--b\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n`
const FILE = part('name="file"; filename="a.csv"')

/** The start of a request with a body of `length` bytes. */
function start(path: string, headers: string, body = '', length = MANY): string {
  const method = path.startsWith('PUT ') ? '' : 'POST '
  return `${method}${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length + length}\r\n${headers}\r\n${body}`
}

const withKey = (key: string, headers: string): string =>
  `Authorization: Bearer ${key}\r\n${headers}`

async function expectHeard(head: string, status: number, bytes = MANY): Promise<void> {
  const port = Number(new URL(stage.url).port)
  for (const reads of READS) {
    const answer = await callRaw({ port, head, bytes, reads })
    expect(answer).toMatchObject({ status, text: expect.stringMatching(/\{"error":.*\}$/) })
    if (reads === 'after') expect(answer).toMatchObject({ sentBytes: bytes, fault: undefined })
  }
}

describe('a body of 40 MiB that is refused early: the client gets the response', () => {
  test('401, and 429 for more of them', async () => {
    await expectHeard(start('/v1/batches', FORM, FILE), 401)
    await expectHeard(start('/v1/batches', FORM, FILE), 429)
  })

  test('402, also with an unknown Idempotency-Key', async () => {
    await expectHeard(start('/v1/batches', withKey(poor, FORM), FILE), 402)
    const keyed = withKey(poor, `${FORM}Idempotency-Key: new\r\n`)
    await expectHeard(start('/v1/batches', keyed, FILE), 402)
  })

  test('404 and 405', async () => {
    await expectHeard(start('/v1/nowhere', FORM, FILE), 404)
    await expectHeard(start('PUT /v1/batches', FORM, FILE), 405)
  })

  test('413 by Content-Length', async () => {
    const head = start('/v1/batches', withKey(rich, FORM), FILE, 1_000_000 * MIB)
    await expectHeard(head, 413)
  })

  test('413 by the received bytes of a file', async () => {
    const chunked = 'Transfer-Encoding: chunked\r\n'
    const more = LIMIT + 8 * MIB
    const chunk = `${(FILE.length + more).toString(16)}\r\n${FILE}`
    const path = 'POST /v1/batches HTTP/1.1\r\nHost: x\r\n'
    await expectHeard(`${path}${withKey(rich, FORM + chunked)}\r\n${chunk}`, 413, more)
  })

  test('400 for JSON that is malformed, too deeply nested, or has too many records, as soon as that is received', async () => {
    const json = withKey(rich, 'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n')
    const path = 'POST /v1/batches HTTP/1.1\r\nHost: x\r\n'
    for (const body of [
      '',
      `{"records":${'['.repeat(100)}`,
      `{"records":[${'{},'.repeat(20_000)}`,
    ]) {
      const size = (body.length + MANY).toString(16)
      await expectHeard(`${path}${json}\r\n${size}\r\n${body}`, 400)
    }
  })

  test('415 for the type of the body, its encoding, and the type of its file', async () => {
    await expectHeard(start('/v1/batches', withKey(rich, 'Content-Type: text/csv\r\n')), 415)
    const packed = `${FORM}Content-Encoding: gzip\r\n`
    await expectHeard(start('/v1/batches', withKey(rich, packed), FILE), 415)
    for (const file of [
      part('name="file"; filename="a.numbers"'),
      `${FILE}Rar!\x1a\x07`,
      `${FILE}%PDF`,
    ]) {
      await expectHeard(start('/v1/batches', withKey(rich, FORM), file), 415)
    }
  })

  test.each([
    ['a file under another name', part('name="list"; filename="a.csv"')],
    ['a field that is too long', `${part('name="name"')}${'x'.repeat(20_000)}\r\n`],
    ['too many fields', `${part('name="name"')}x\r\n`.repeat(21)],
    ['a second file', `${FILE}email\r\n${FILE}`],
    ['a head that is none', '--b\r\nnonsense\r\n\r\n'],
  ])('400 for %s', async (_name, body) => {
    await expectHeard(start('/v1/batches', withKey(rich, FORM), body), 400)
  })

  test('400 for a query, since the path accepts none', async () => {
    await expectHeard(start('/v1/batches?start=false', withKey(rich, FORM), FILE), 400)
  })

  test('400 for a malformed Idempotency-Key', async () => {
    const headers = withKey(rich, `${FORM}Idempotency-Key: ${'x'.repeat(256)}\r\n`)
    await expectHeard(start('/v1/batches', headers, FILE), 400)
  })

  test('no file remains', async () => {
    await expect.poll(() => stage.scratch()).toEqual([])
  })
})

test('concurrent uploads of an account are limited to its unfinished batches, and others can still upload', async () => {
  await using narrow = await openApiHarness({ UNFINISHED_BATCHES_LIMIT: '2' })
  const port = Number(new URL(narrow.url).port)
  const [busy, other] = [await narrow.account(), await narrow.account()]
  const head = start('/v1/batches', withKey(busy.live, FORM), `${FILE}email\n`)
  const held = [1, 2].map(() => openRaw(port, head))
  await expect.poll(() => narrow.scratch()).toHaveLength(2)
  const third = await callRaw({ port, head, bytes: MANY })
  expect(third).toMatchObject({ status: 429, text: expect.stringContaining('sending 2 batches') })
  expect(third.text).toMatch(/^retry-after: \d+\r$/im)
  const form = new FormData()
  form.set('product', 'email')
  form.set('file', new Blob(['email\na@example.com\n']), 'a.csv')
  expect((await narrow.call('/v1/batches', { key: other.live, body: form })).status).toBe(202)
  for (const socket of held) socket.destroy()
  await expect.poll(() => narrow.scratch()).toEqual([])
  expect((await narrow.call('/v1/batches', { key: busy.live, body: form })).status).toBe(202)
})

test('files that are being received count towards the quota of the account, as uploads and as records', async () => {
  await using narrow = await openApiHarness({ STORED_LIMIT_BYTES: '300000' })
  const { live } = await narrow.account()
  const port = Number(new URL(narrow.url).port)
  const slow = connect({ port, host: '127.0.0.1' }).on('error', () => {})
  const body = `${FILE}${'a@example.com\n'.repeat(15_000)}`
  slow.write(start('/v1/batches', withKey(live, FORM), body, MIB))
  await expect.poll(async () => (await narrow.scratchBytes()) > 200_000).toBe(true)

  const rows = 'b@example.com\n'.repeat(10_000)
  const form = new FormData()
  form.set('product', 'email')
  form.set('file', new Blob([rows]), 'more.csv')
  const records = Array.from({ length: 4_000 }, () => ({ email: 'c'.repeat(30) }))
  const send = [form, { product: 'email', records }] as const
  for (const more of send) {
    const refused = await narrow.call('/v1/batches', { key: live, body: more })
    expect([refused.status, refused.text]).toEqual([
      413,
      expect.stringContaining('would exceed its'),
    ])
  }
  slow.destroy()
  await expect.poll(() => narrow.scratch()).toEqual([])
  expect((await narrow.call('/v1/batches', { key: live, body: form })).status).toBe(202)
})

test('a batch whose key is revoked during the upload is refused', async () => {
  const account = await stage.account()
  const port = Number(new URL(stage.url).port)
  const body = `${part('name="product"')}email\r\n${FILE}email\na@example.com\n`
  const end = '\r\n--b--\r\n'
  const socket = openRaw(port, start('/v1/batches', withKey(account.live, FORM), body, end.length))
  await expect.poll(() => stage.scratch()).toHaveLength(1)
  await revokeKey(stage.db, { accountId: account.id, mode: 'live' })
  // A key is known for less than a second.
  await expect
    .poll(async () => (await stage.call('/v1/account', { key: account.live })).status)
    .not.toBe(200)
  socket.write(end)
  const [answer] = await once(socket, 'data')
  expect(String(answer)).toMatch(/^HTTP\/1\.1 401 /)
  socket.destroy()
  await expect.poll(() => stage.scratch()).toEqual([])
})

/** A client that has sent the start of a request and waits. */
function openRaw(port: number, head: string): Socket {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined).write(head)
  return socket
}
