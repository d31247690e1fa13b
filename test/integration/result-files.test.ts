import { createHash } from 'node:crypto'
import { request } from 'node:http'
import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { oneBackend } from '@plumbline/testkit/one-backend'
import { call, formOf, runBatch, type Caller } from '@plumbline/testkit/batches'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { startService } from '@plumbline/testkit/service'

// Downloads of the files of an ended batch: complete, in ranges, repeated, and aborted.

const ROWS = 3_000

describe.each(oneBackend('postgres'))('on $name', ({ redisUrl }) => {
  let stack: AsyncDisposableStack
  let caller: Caller
  let path: string
  let whole: Buffer

  beforeAll(async () => {
    stack = new AsyncDisposableStack()
    const database = stack.use(await createTestDatabase())
    const service = stack.use(
      await startService({
        databaseUrl: database.url,
        redisUrl,
        workers: [['email', 'batch']],
        env: { DOWNLOADS_LIMIT: '2' },
      }),
    )
    const account = await service.account({ credits: ROWS })
    caller = { service, account, key: account.liveKey }
    const rows = Array.from({ length: ROWS }, (_, no) => `person${no}@example.com,${no},سيرة <b>`)
    const file = `email,no,note\n${rows.join('\n')}\n,refused,x\n`
    const { id } = await runBatch(caller, formOf({ product: 'email' }, file, 'سيرة<b>.csv'))
    path = `/v1/batches/${id}/results`
    const response = await fetched({})
    whole = Buffer.from(await response.arrayBuffer())
  })
  afterAll(() => stack.disposeAsync())

  async function fetched(
    headers: Record<string, string>,
    query = '',
    method = 'GET',
  ): Promise<Response> {
    return await fetch(`${caller.service.url}${path}${query}`, {
      method,
      headers: { authorization: `Bearer ${caller.key}`, ...headers },
    })
  }

  test('the finished file has its digest as ETag, its length, and is not sent again', async () => {
    const head = await fetched({}, '', 'HEAD')
    const etag = `"${createHash('sha256').update(whole).digest('hex')}"`
    expect(head.headers.get('etag')).toBe(etag)
    expect(head.headers.get('accept-ranges')).toBe('bytes')
    expect(head.headers.get('content-length')).toBe(String(whole.length))
    const again = await fetched({ 'if-none-match': etag })
    expect([again.status, await again.text()]).toEqual([304, ''])
    expect(again.headers.get('etag')).toBe(etag)
  })

  test('an interrupted download is resumed to the same bytes', async () => {
    const etag = (await fetched({}, '', 'HEAD')).headers.get('etag') ?? ''
    const pieces: Buffer[] = []
    for (let at = 0; at < whole.length; at += 100_001) {
      const range = `bytes=${at}-${at + 100_000}`
      const part = await fetched({ range, 'if-range': etag })
      const end = Math.min(at + 100_000, whole.length - 1)
      expect(part.status).toBe(206)
      expect(part.headers.get('content-range')).toBe(`bytes ${at}-${end}/${whole.length}`)
      expect(part.headers.get('content-length')).toBe(String(end - at + 1))
      pieces.push(Buffer.from(await part.arrayBuffer()))
    }
    expect(pieces.length).toBeGreaterThan(2)
    expect(Buffer.concat(pieces).equals(whole)).toBe(true)
    const other = await fetched({ range: 'bytes=5-', 'if-range': '"other"' })
    expect([other.status, (await other.arrayBuffer()).byteLength]).toEqual([200, whole.length])
  })

  test('a range beyond the end is 416 with the length, and no file is sent', async () => {
    const answer = await fetched({ range: `bytes=${whole.length}-` })
    expect(answer.status).toBe(416)
    expect(answer.headers.get('content-range')).toBe(`bytes */${whole.length}`)
    expect(await answer.json()).toEqual({
      error: 'Range Not Satisfiable',
      message: `The file has ${whole.length} bytes, and none of the range asked for.`,
    })
  })

  test('a result that is generated during the download supports no ranges, and is complete', async () => {
    for (const query of ['?format=ndjson', '?raw=1', '?only=send', '?bom=1', '?format=xlsx']) {
      const answer = await fetched({ range: 'bytes=0-9' }, query)
      const told = [query, answer.status, answer.headers.get('accept-ranges')]
      expect(told).toEqual([query, 200, 'none'])
      expect(answer.headers.get('etag')).toBeNull()
      expect((await answer.arrayBuffer()).byteLength).toBeGreaterThan(10)
    }
  })

  test('file names and content types match the format', async () => {
    const id = /bat_\w+/.exec(path)?.[0] ?? ''
    const known = { '?format=xlsx': '.xlsx', '?format=zip': '.zip', '?encoding=latin-1': '.csv' }
    for (const [query, ending] of Object.entries(known)) {
      const answer = await fetched({}, query, 'HEAD')
      const named = encodeURIComponent(`سيرة_b-result${ending}`)
      const disposition = `attachment; filename=${id}-result${ending}; filename*=UTF-8''${named}`
      expect(answer.headers.get('content-disposition')).toBe(disposition)
    }
    const western = await fetched({}, '?encoding=latin-1', 'HEAD')
    expect(western.headers.get('content-type')).toBe('text/csv; charset=windows-1252')
    const refused = await call(caller, 'GET', `/v1/batches/${id}/refused`)
    expect(refused.headers.get('content-disposition')).toContain(`${id}-refused.csv`)
    expect(await refused.text()).toBe(
      `email,no,note,result.row,result.error\r\n,refused,x,${ROWS + 1},email: is missing\r\n`,
    )
  })

  test('aborted downloads do not count against the limit', async () => {
    for (const query of ['?format=xlsx', '?format=zip', '?format=ndjson', '', '?format=xlsx']) {
      for (let no = 0; no < 3; no++) await giveUp(query)
    }
    // The last of them may not be gone yet.
    await expect.poll(async () => await statusOfWhole('?format=xlsx')).toBe(200)
  })

  async function statusOfWhole(query: string): Promise<number> {
    const answer = await fetched({}, query)
    await answer.arrayBuffer()
    return answer.status
  }

  /** Begins a download, reads its head and hangs up. */
  async function giveUp(query: string): Promise<void> {
    for (;;) {
      const sent = request(`${caller.service.url}${path}${query}`, {
        headers: { authorization: `Bearer ${caller.key}` },
      })
      sent.on('error', () => {})
      sent.end()
      const [response] = (await once(sent, 'response')) as [{ statusCode?: number }]
      sent.destroy()
      // The one before may not be gone yet.
      if (response.statusCode !== 429) return
    }
  }
})
