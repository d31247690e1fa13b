import { ledgerPage } from '@plumbline/contract/ledger'
import { allowAnyTransition } from '@plumbline/testkit/any-transition'
import { batchPage, batchView } from '@plumbline/contract/batch-view'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  openApiHarness,
  type ApiResponse,
  type ApiHarness,
  type HarnessAccount,
} from '@plumbline/testkit/api/harness'

let stage: ApiHarness
let account: HarnessAccount
beforeAll(async () => {
  stage = await openApiHarness({
    RATE_LIMIT_PER_SECOND: '1000',
    RATE_LIMIT_BURST: '1000',
    UPLOAD_LIMIT_BYTES: '300000',
    RECORDS_LIMIT: '5',
    UNFINISHED_BATCHES_LIMIT: '1000',
  })
  account = await stage.account()
})
afterAll(() => stage[Symbol.asyncDispose]())

const CSV = 'email,name\nada@example.com,Ada\n'

function form(fields: Record<string, string>, file: string | null = CSV): FormData {
  const data = new FormData()
  for (const [name, value] of Object.entries(fields)) data.set(name, value)
  if (file !== null) data.set('file', new Blob([file]), 'contacts.csv')
  return data
}

async function submit(fields: Record<string, string> = {}): Promise<string> {
  const body = form({ product: 'email', ...fields })
  const answer = await stage.call('/v1/batches', { key: account.live, body })
  expect(answer.status).toBe(202)
  return batchView.parse(answer.json).id
}

async function moveTo(id: string, status: string): Promise<void> {
  await allowAnyTransition(stage.db)
  await stage.db.pool.query(
    `update batches set status = $2, ats = ats || jsonb_build_object($2::text,
        to_char(now() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')),
      lease_until = null where id = $1`,
    [id, status],
  )
}

async function batchCount(): Promise<number> {
  const { rows } = await stage.db.pool.query<{ count: number }>('select count(*)::int from batches')
  return rows[0]?.count ?? -1
}

describe('POST /v1/batches', () => {
  test('202 with the batch and its Location, for a file', async () => {
    const body = form({
      product: 'fraud-signals',
      name: 'Spring',
      mapping: '{"email": "email"}',
      header: 'true',
      start: 'false',
      max_credits: '10',
      retention_days: '7',
      default_country: 'de',
      explain: 'true',
    })
    const answer = await stage.call('/v1/batches', { key: account.live, body })
    expect(answer.status).toBe(202)
    const batch = batchView.parse(answer.json)
    expect(batch).toMatchObject({
      product: 'fraud-signals',
      name: 'Spring',
      status: 'analyzing',
      file: { name: 'contacts.csv', bytes: CSV.length },
    })
    expect(answer.headers.get('location')).toBe(`/v1/batches/${batch.id}`)
    expect(answer.headers.get('x-credits-charged')).toBe('0')
    expect(answer.headers.get('x-credits-remaining')).toBe('25000')
    expect(await stage.scratch()).toEqual([])
  })

  test('202 for records', async () => {
    const body = { product: 'email', records: [{ email: 'ada@example.com', ref: '1' }] }
    const answer = await stage.call('/v1/batches', { key: account.live, body })
    expect(answer.status).toBe(202)
    expect(batchView.parse(answer.json)).toMatchObject({ product: 'email', file: null })
    expect(await stage.scratch()).toEqual([])
  })

  test('key, rate and zero balance are checked before the body', async () => {
    const broke = await stage.account({ credits: 0 })
    const body = form({ colour: 'red' }, null)
    expect((await stage.call('/v1/batches', { body })).status).toBe(401)
    expect((await stage.call('/v1/batches', { key: broke.live, body })).status).toBe(402)
    expect((await stage.call('/v1/batches', { key: account.live, body })).status).toBe(400)
  })

  test('a client that waits to be asked for the body is refused without sending it', async () => {
    const { request } = await import('node:http')
    const { promise, resolve, reject } = Promise.withResolvers<{ status: number; asked: boolean }>()
    let asked = false
    const req = request(`${stage.url}/v1/batches`, {
      method: 'POST',
      headers: { expect: '100-continue', 'content-length': '100000', 'content-type': 'text/csv' },
    })
    req.on('continue', () => {
      asked = true
    })
    req.on('response', (res) => {
      resolve({ status: res.statusCode ?? 0, asked })
      req.destroy()
    })
    req.on('error', reject)
    req.flushHeaders()
    expect(await promise).toEqual({ status: 401, asked: false })
  })

  test.each<[string, () => FormData, string]>([
    ['no file', () => form({ product: 'email' }, null), 'part `file`'],
    ['no product', () => form({}), '`product` is missing'],
    ['an odd product', () => form({ product: 'mail' }), '`product` must be one of'],
    ['an unknown field', () => form({ product: 'email', colour: 'red' }), 'colour'],
    ['a nested field', () => form({ product: 'email', 'mapping[email]': '0' }), 'nesting'],
    ['an indexed field', () => form({ product: 'email', 'name[4294967294]': 'x' }), 'nesting'],
    ['__proto__', () => form({ product: 'email', ['__proto__']: 'x' }), '__proto__'],
    ['a field twice', () => twice(form({ product: 'email' })), 'more than once'],
    ['a huge field', () => form({ product: 'email', name: 'x'.repeat(20_000) }), 'too long'],
    ['two files', () => twoFiles(), 'exactly one file'],
    ['a file in another part', () => elsewhere(), 'exactly one file'],
    ['too many fields', () => manyFields(), 'Too many'],
    ['a broken mapping', () => form({ product: 'email', mapping: '{' }), '`mapping`'],
    [
      'a mapping to a field of another product',
      () => form({ product: 'email', mapping: '{"phone": 1}' }),
      'the fields of email are email, ref',
    ],
  ])('400 for %s, and nothing is left behind', async (_name, body, part) => {
    const before = await batchCount()
    const answer = await stage.call('/v1/batches', { key: account.live, body: body() })
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining(part)])
    expect(await stage.scratch()).toEqual([])
    expect(await batchCount()).toBe(before)
  })

  test.each([
    ['no boundary', 'multipart/form-data', 'x', 400],
    [
      'a cut form',
      'multipart/form-data; boundary=b',
      '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nab',
      400,
    ],
    ['no form at all', 'multipart/form-data; boundary=b', '', 400],
    ['a file without form', 'text/csv', CSV, 415],
    ['broken JSON', 'application/json', '{', 400],
    ['no records', 'application/json', '{"product": "email", "records": []}', 400],
    ['a record that is none', 'application/json', '{"product": "email", "records": [1]}', 400],
    [
      'too many records',
      'application/json',
      '{"product": "email", "records": [{},{},{},{},{},{}]}',
      400,
    ],
  ])('refuses %s', async (_name, type, body, status) => {
    const init = { key: account.live, body, headers: { 'content-type': type } }
    const answer = await stage.call('/v1/batches', init)
    expect([answer.status, Object.keys(Object(answer.json))]).toEqual([
      status,
      ['error', 'message'],
    ])
    expect(await stage.scratch()).toEqual([])
  })

  test('400 for a query, which would be ignored', async () => {
    const before = await batchCount()
    for (const query of ['start=false', 'product=email', 'x']) {
      const body = form({ product: 'email' })
      const answer = await stage.call(`/v1/batches?${query}`, { key: account.live, body })
      expect([answer.status, answer.text]).toEqual([400, expect.stringContaining('in the query')])
    }
    expect(await batchCount()).toBe(before)
    const body = form({ product: 'email', start: 'false' })
    const bare = await stage.call('/v1/batches?', { key: account.live, body })
    expect(bare.status).toBe(202)
    const { id } = batchView.parse(bare.json)
    for (const path of ['start', 'cancel']) {
      const init = { method: 'POST', key: account.live }
      const answer = await stage.call(`/v1/batches/${id}/${path}?max_credits=1`, init)
      expect([answer.status, answer.text]).toEqual([400, expect.stringContaining('in the query')])
    }
  })

  test('415 for a compressed form', async () => {
    const headers = { 'content-encoding': 'gzip' }
    const body = form({ product: 'email' })
    const answer = await stage.call('/v1/batches', { key: account.live, body, headers })
    expect(answer.status).toBe(415)
  })

  test('413 for a file over the limit, by Content-Length or received bytes; no file remains', async () => {
    const large = form({ product: 'email' }, 'x'.repeat(400_000))
    expect((await stage.call('/v1/batches', { key: account.live, body: large })).status).toBe(413)
    const larger = form({ product: 'email' }, 'x'.repeat(2_000_000))
    expect((await stage.call('/v1/batches', { key: account.live, body: larger })).status).toBe(413)
    expect((await endlessUpload(stage, account.live)).status).toBe(413)
    await expect.poll(() => stage.scratch()).toEqual([])
  })

  test('after a connection is cut within the file no file remains', async () => {
    const { request } = await import('node:http')
    const before = await batchCount()
    const req = request(`${stage.url}/v1/batches`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${account.live}`,
        'content-type': 'multipart/form-data; boundary=b',
      },
    })
    req.on('error', () => undefined)
    req.write(PART)
    req.write('x'.repeat(100_000))
    await expect.poll(() => stage.scratch()).toHaveLength(1)
    req.destroy()
    await expect.poll(() => stage.scratch()).toEqual([])
    expect(await batchCount()).toBe(before)
  })

  test('file names are never used as paths', async () => {
    const kept: (string | null)[] = []
    const long = 'x'.repeat(1_000)
    const turned = '\u202ea\u2066gpj.\u200fexe.csv'
    for (const name of ['../../etc/passwd', 'a\tb', 'Größe.csv', long, 'CON', turned]) {
      const body = new FormData()
      body.set('product', 'email')
      body.set('file', new Blob([CSV]), name)
      const answer = await stage.call('/v1/batches', { key: account.live, body })
      expect([name, answer.status]).toEqual([name, 202])
      kept.push(batchView.parse(answer.json).file?.name ?? null)
    }
    expect(kept).toEqual([
      'passwd',
      'a\ufffdb',
      'Größe.csv',
      'x'.repeat(255),
      'CON',
      'agpj.exe.csv',
    ])
  })

  test('names are shown without bidirectional controls, also those stored earlier', async () => {
    const id = await submit({ name: 'Q1 \u202egpj.exe\u2069' })
    const read = async (): Promise<unknown> =>
      (await stage.call(`/v1/batches/${id}`, { key: account.live })).json
    expect(await read()).toMatchObject({ name: 'Q1 gpj.exe' })
    await stage.db.pool.query(`update batches set name = $2, file_name = $2 where id = $1`, [
      id,
      'old\u202ename',
    ])
    expect(await read()).toMatchObject({ name: 'oldname', file: { name: 'oldname' } })
  })

  test('429 beyond the unfinished batches of an account', async () => {
    await using strict = await openApiHarness({ UNFINISHED_BATCHES_LIMIT: '1' })
    const { live } = await strict.account()
    const call = (): Promise<ApiResponse> =>
      strict.call('/v1/batches', { key: live, body: form({ product: 'email' }) })
    expect((await call()).status).toBe(202)
    const refused = await call()
    expect(refused.status).toBe(429)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await strict.scratch()).toEqual([])
  })

  test('the same file under one Idempotency-Key is one batch, whatever the boundary', async () => {
    const headers = { 'idempotency-key': 'list-1' }
    const before = await batchCount()
    const call = (body: FormData): Promise<ApiResponse> =>
      stage.call('/v1/batches', { key: account.live, body, headers })
    const first = await call(form({ product: 'email', name: 'a' }))
    const again = await call(form({ name: 'a', product: 'email' }))
    const other = await call(form({ product: 'email', name: 'a' }, `${CSV}more`))
    expect([first.status, again.status, other.status]).toEqual([202, 202, 422])
    expect(again.text).toBe(first.text)
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect(again.headers.get('location')).toBe(first.headers.get('location'))
    expect(await batchCount()).toBe(before + 1)
    expect(await stage.scratch()).toEqual([])
  })
})

describe('reading batches', () => {
  test('200 for one and for pages of all, newest first', async () => {
    const owner = await stage.account()
    const ids: string[] = []
    for (let list = 0; list < 3; list += 1) {
      const body = { product: 'email', records: [{ email: `${list}@example.com` }] }
      const answer = await stage.call('/v1/batches', { key: owner.live, body })
      ids.unshift(batchView.parse(answer.json).id)
    }
    const one = await stage.call(`/v1/batches/${ids[0]}`, { key: owner.live })
    expect(batchView.parse(one.json).id).toBe(ids[0])
    const first = batchPage.parse(
      (await stage.call('/v1/batches?limit=2', { key: owner.live })).json,
    )
    const rest = batchPage.parse(
      (await stage.call(`/v1/batches?cursor=${first.next_cursor}`, { key: owner.live })).json,
    )
    expect([...first.data, ...rest.data].map(({ id }) => id)).toEqual(ids)
    expect(rest.next_cursor).toBeNull()
  })

  test('a cursor is accepted only from its own account and mode, and outlives its batch', async () => {
    const owner = await stage.account()
    const other = await stage.account()
    const ids: string[] = []
    for (const { live } of [owner, owner, owner, other]) {
      const body = { product: 'email', records: [{ email: 'a@example.com' }] }
      const answer = await stage.call('/v1/batches', { key: live, body })
      ids.unshift(batchView.parse(answer.json).id)
    }
    // Made in one transaction, batches share their time.
    await stage.db.pool.query(
      "update batches set created_at = '2026-11-22 10:00:00.123457+00' where id = any ($1)",
      [ids],
    )
    const sorted = ids.slice(1).toSorted().toReversed()
    const list = (query: string, key = owner.live): Promise<ApiResponse> =>
      stage.call(`/v1/batches?limit=1${query}`, { key })
    const first = batchPage.parse((await list('')).json)
    const cursor = `&cursor=${first.next_cursor}`
    for (const key of [other.live, owner.test]) {
      expect((await list(cursor, key)).status).toBe(400)
    }
    expect((await list(`&cursor=${ids[0]}`)).status).toBe(400)
    expect((await list(`&cursor=${sorted[0]}`)).status).toBe(400)
    await stage.db.pool.query('delete from batches where id = $1', [first.data[0]?.id])
    const second = batchPage.parse((await list(cursor)).json)
    const third = batchPage.parse((await list(`&cursor=${second.next_cursor}`)).json)
    const read = [first, second, third].map(({ data }) => data[0]?.id)
    expect([read, third.next_cursor]).toEqual([sorted, null])
  })

  test('200 with the batches of a state or a name only', async () => {
    const { live } = await stage.account()
    const named = async (name: string): Promise<string> => {
      const body = { product: 'email', name, start: false, records: [{ email: 'a@example.com' }] }
      const answer = await stage.call('/v1/batches', { key: live, body })
      return batchView.parse(answer.json).id
    }
    const wanted = await named('Ünë 50%_\\ off')
    const other = await named('spring')
    await stage.db.pool.query("update batches set status = 'canceling' where id = $1", [other])
    const found = async (query: string): Promise<readonly string[]> => {
      const answer = await stage.call(`/v1/batches?${query}`, { key: live })
      return batchPage.parse(answer.json).data.map(({ id }) => id)
    }
    expect(await found(`search=${encodeURIComponent('ÜNË 50%_\\')}`)).toEqual([wanted])
    expect(await found(`search=${other}`)).toEqual([other])
    expect(await found('search=%25')).toEqual([wanted])
    expect(await found('search=nothing')).toEqual([])
    expect(await found('status=canceling,failed')).toEqual([other])
    expect(await found('status=canceling&search=off')).toEqual([])
  })

  test.each([
    'limit=0',
    'limit=101',
    'limit=x',
    'cursor=x',
    'limit=1&limit=2',
    'page=2',
    'status=done',
    'search=',
    'search=%00',
    `search=${'x'.repeat(101)}`,
  ])('400 for ?%s', async (query) => {
    const answer = await stage.call(`/v1/batches?${query}`, { key: account.live })
    expect(answer.status).toBe(400)
  })

  test('404 for unknown batches, those of other accounts and of the other mode, on every path', async () => {
    const id = await submit()
    const other = await stage.account()
    const paths = [
      ['GET', ''],
      ['DELETE', ''],
      ['POST', '/start'],
      ['POST', '/cancel'],
      ['GET', '/events'],
      ['GET', '/results'],
      ['GET', '/refused'],
    ] as const
    for (const [method, path] of paths) {
      const asked = [
        await stage.call(`/v1/batches/${id}${path}`, { method, key: other.live }),
        await stage.call(`/v1/batches/${id}${path}`, { method, key: account.test }),
        await stage.call(`/v1/batches/bat_none${path}`, { method, key: account.live }),
        await stage.call(`/v1/batches/..%2f${path}`, { method, key: account.live }),
      ]
      expect(asked.map(({ status }) => status)).toEqual([404, 404, 404, 404])
      expect(new Set(asked.map(({ text }) => text)).size).toBe(1)
      expect((await stage.call(`/v1/batches/${id}${path}`, { method })).status).toBe(401)
    }
    expect((await stage.call(`/v1/batches/${id}`, { key: account.live })).status).toBe(200)
  })

  test('405 for other methods', async () => {
    const answer = await stage.call('/v1/batches/bat_x', { method: 'PUT', key: account.live })
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD, PATCH, DELETE'])
  })

  test('events end at once for a batch that has stopped', async () => {
    const id = await submit({ start: 'false' })
    await moveTo(id, 'ready')
    const answer = await stage.call(`/v1/batches/${id}/events`, { key: account.live })
    expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    expect(answer.headers.get('x-credits-remaining')).not.toBeNull()
    const [batch, end] = answer.text.split('\n\n')
    expect(batch).toMatch(/^id: 1\nevent: batch\ndata: /)
    expect(end).toBe('event: end\ndata: {}')
  })

  test('events show each change', async () => {
    const id = await submit({ start: 'false' })
    const response = await fetch(`${stage.url}/v1/batches/${id}/events`, {
      headers: { authorization: `Bearer ${account.live}` },
    })
    const decoder = new TextDecoder()
    let text = ''
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk, { stream: true })
      if (text.includes('"analyzing"') && !text.includes('"ready"')) await moveTo(id, 'ready')
    }
    expect(text.match(/event: batch/g)).toHaveLength(2)
    expect(text.endsWith('event: end\ndata: {}\n\n')).toBe(true)
  })

  test('results are refused with 409 before there are any, and with 400 for invalid options', async () => {
    const id = await submit()
    const of = (query: string): Promise<ApiResponse> =>
      stage.call(`/v1/batches/${id}/results${query}`, { key: account.live })
    expect((await of('')).status).toBe(409)
    const odd = ['?format=pdf', '?only=x', '?after=-1', '?raw=yes', '?x=1', '?bom=1&sep=1']
    const tables = ['?format=xlsx&bom=1', '?format=ndjson&columns=input', '?format=zip&only=send']
    const csv = ['?delimiter=x', '?encoding=utf-7', '?bom=1&encoding=macintosh', '?columns=a,']
    for (const query of [...odd, ...tables, ...csv]) {
      expect([query, (await of(query)).status]).toEqual([query, 400])
    }
  })

  test('the connection is cut if rows are erased during the download', async () => {
    const id = await submit()
    await moveTo(id, 'completed')
    await stage.db.pool.query('update batches set rows_total = 5 where id = $1', [id])
    const of = (query: string): Promise<ApiResponse> =>
      stage.call(`/v1/batches/${id}/results?format=ndjson${query}`, { key: account.live })
    await expect(of('')).rejects.toThrow()
    expect((await of('&after=5')).status).toBe(200)
  })
})

describe('changing the state of batches', () => {
  test('start: 409 unless ready, then 200 and once for each Idempotency-Key', async () => {
    const id = await submit({ start: 'false' })
    const start = (): Promise<ApiResponse> =>
      stage.call(`/v1/batches/${id}/start`, {
        method: 'POST',
        key: account.live,
        headers: { 'idempotency-key': `start-${id}` },
      })
    expect((await start()).status).toBe(409)
    await moveTo(id, 'ready')
    const started = await start()
    expect([started.status, batchView.parse(started.json).status]).toEqual([200, 'running'])
    const again = await start()
    expect([again.status, again.text]).toEqual([200, started.text])
    expect(again.headers.get('idempotent-replayed')).toBe('true')
  })

  test('start: 402 without the credits, and the batch stays ready', async () => {
    const poor = await stage.account({ credits: 3 })
    const body = form({ product: 'email', start: 'false' })
    const { id } = batchView.parse((await stage.call('/v1/batches', { key: poor.live, body })).json)
    await moveTo(id, 'ready')
    await stage.db.pool.query('update batches set credits_estimate = 4 where id = $1', [id])
    const init = { method: 'POST', key: poor.live }
    const refused = await stage.call(`/v1/batches/${id}/start`, init)
    expect(refused.status).toBe(402)
    expect(refused.headers.get('x-credits-remaining')).toBe('3')
    const batch = await stage.call(`/v1/batches/${id}`, { key: poor.live })
    expect(batch.json).toMatchObject({ status: 'ready' })
  })

  test('start: an account without credits starts what costs nothing, and gets 402 for all else', async () => {
    const empty = await stage.account({ credits: 0 })
    const body = form({ product: 'email', start: 'false' })
    const created = await stage.call('/v1/batches', { key: empty.live, body })
    const { id } = batchView.parse(created.json)
    const start = async (of: string, key?: string): Promise<number> => {
      const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key }
      const init = { method: 'POST', key: empty.live, headers }
      return (await stage.call(`/v1/batches/${of}/start`, init)).status
    }
    expect(await start(id)).toBe(402)
    await moveTo(id, 'ready')
    await stage.db.pool.query('update batches set credits_estimate = 1 where id = $1', [id])
    expect([await start(id), await start('bat_none'), await start(await submit())]).toEqual([
      402, 402, 402,
    ])
    await stage.db.pool.query('update batches set credits_estimate = 0 where id = $1', [id])
    expect([await start(id, 'go'), await start(id, 'go'), await start(id)]).toEqual([200, 200, 402])
  })

  test('start: an account without credits starts a batch whose rows a sample has paid for', async () => {
    const empty = await stage.account({ credits: 0 })
    const body = form({ product: 'email', start: 'false' })
    const created = await stage.call('/v1/batches', { key: empty.live, body })
    const { id } = batchView.parse(created.json)
    await moveTo(id, 'ready')
    await stage.db.pool.query('update batches set credits_estimate = 2 where id = $1', [id])
    await stage.db.pool.query(
      `insert into chunks (batch_id, no, first_row, row_count, billable_count, email_count, phone_count,
         ip_count, domain_count, remaining, subjects, cells, prepaid)
       values ($1, 0, 0, 2, 2, 2, 0, 0, 0, 0, '', '', 1)`,
      [id],
    )
    const start = async () =>
      await stage.call(`/v1/batches/${id}/start`, { method: 'POST', key: empty.live })
    expect((await start()).status).toBe(402)
    await stage.db.pool.query(
      `update chunks set prepaid = 2, charged = 2, settled_at = now() where batch_id = $1`,
      [id],
    )
    const started = await start()
    expect(started.status).toBe(200)
    expect(batchView.parse(started.json).credits).toMatchObject({ estimate: 2, held: 0 })
  })

  test('a repeat without credits left: create and start get the first response, new work is 402', async () => {
    const last = await stage.account({ credits: 3 })
    const call = (path: string, key: string, body?: FormData): Promise<ApiResponse> =>
      stage.call(path, {
        method: 'POST',
        key: last.live,
        headers: { 'idempotency-key': key },
        body,
      })
    const list = (): FormData => form({ product: 'email' })
    const created = await call('/v1/batches', 'list', list())
    const { id } = batchView.parse(created.json)
    await moveTo(id, 'ready')
    await stage.db.pool.query('update batches set credits_estimate = 3 where id = $1', [id])
    const started = await call(`/v1/batches/${id}/start`, 'go')
    expect([created.status, started.status]).toEqual([202, 200])
    expect(started.headers.get('x-credits-remaining')).toBe('0')
    const moves = ledgerPage.parse((await stage.call('/v1/ledger', { key: last.live })).json)
    const batch_name = batchView.parse(created.json).file?.name
    expect(moves.data[0]).toMatchObject({ kind: 'hold', batch_id: id, batch_name })
    expect(batch_name).toMatch(/./)

    const startedAgain = await call(`/v1/batches/${id}/start`, 'go')
    expect([startedAgain.status, startedAgain.text]).toEqual([200, started.text])
    const createdAgain = await call('/v1/batches', 'list', list())
    expect([createdAgain.status, createdAgain.text]).toEqual([202, created.text])
    expect(createdAgain.headers.get('location')).toBe(created.headers.get('location'))
    for (const { headers } of [startedAgain, createdAgain]) {
      expect(headers.get('idempotent-replayed')).toBe('true')
      expect(headers.get('x-credits-remaining')).toBe('0')
    }
    expect((await call('/v1/batches', 'list', form({ product: 'ip' }))).status).toBe(422)
    expect((await call('/v1/batches', 'other', form({ product: 'email' }))).status).toBe(402)
    expect((await call(`/v1/batches/${id}/start`, 'other')).status).toBe(402)
    expect(await stage.scratch()).toEqual([])
  })

  test('cancel: 200, again 200; 409 once it has ended', async () => {
    const id = await submit()
    const cancel = (): Promise<ApiResponse> =>
      stage.call(`/v1/batches/${id}/cancel`, { method: 'POST', key: account.live })
    expect((await cancel()).json).toMatchObject({ id, status: 'canceling' })
    expect((await cancel()).status).toBe(200)
    const done = await submit()
    await moveTo(done, 'failed')
    const late = { method: 'POST', key: account.live }
    expect((await stage.call(`/v1/batches/${done}/cancel`, late)).status).toBe(409)
  })

  test('delete: 409 while it runs, 204 once it has ended, then 404', async () => {
    const id = await submit()
    const erase = (): Promise<ApiResponse> =>
      stage.call(`/v1/batches/${id}`, { method: 'DELETE', key: account.live })
    expect((await erase()).status).toBe(409)
    await moveTo(id, 'failed')
    const erased = await erase()
    expect([erased.status, erased.text]).toEqual([204, ''])
    expect(erased.headers.get('x-credits-remaining')).not.toBeNull()
    expect((await erase()).status).toBe(404)
  })
})

const PART =
  '--b\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\nContent-Type: text/csv\r\n\r\n'

/** Sends an endless body, like a client that ignores the response. */
async function endlessUpload(on: ApiHarness, key: string): Promise<{ status: number }> {
  const { request } = await import('node:http')
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number }>()
  const req = request(`${on.url}/v1/batches`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'multipart/form-data; boundary=b' },
  })
  req.on('response', (res) => {
    resolve({ status: res.statusCode ?? 0 })
    req.destroy()
  })
  req.on('error', reject)
  req.write(PART)
  const more = (): void => {
    if (!req.destroyed) req.write('x'.repeat(65_536), () => setImmediate(more))
  }
  more()
  return await promise
}

function twice(data: FormData): FormData {
  data.append('product', 'email')
  return data
}

function twoFiles(): FormData {
  const data = form({ product: 'email' })
  data.append('file', new Blob([CSV]), 'more.csv')
  return data
}

function elsewhere(): FormData {
  const data = form({ product: 'email' }, null)
  data.append('list', new Blob([CSV]), 'contacts.csv')
  return data
}

function manyFields(): FormData {
  const data = form({ product: 'email' })
  for (let field = 0; field < 20; field += 1) data.set(`field${field}`, 'x')
  return data
}
