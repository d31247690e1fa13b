import { randomBytes } from 'node:crypto'
import { erasedValuesOf, type EraseRequest } from '@plumbline/contract/erasure'
import type { Check } from '@plumbline/contract/products'
import { createAccount } from '@plumbline/db/accounts'
import { readBatch } from '@plumbline/db/batches/rows'
import { inTransaction } from '@plumbline/db/database'
import { insertMail } from '@plumbline/db/mails'
import { takeEndedBatches } from '@plumbline/db/people/notifications'
import { auditLedger } from '@plumbline/testkit/audit-ledger'
import { leaseTasks } from '@plumbline/db/batches/lease-tasks'
import { closeFinishedBatches } from '@plumbline/db/batches/stages'
import { dyingDb } from '@plumbline/testkit/dying-db'
import { openErasureHarness, type ErasureHarness } from '@plumbline/testkit/erasures'
import { instantEngine } from '@plumbline/testkit/instant-engines'
import { losingDb } from '@plumbline/testkit/losing-db'
import { expect, test } from 'vitest'
import { blankChunks } from './blank-batch.ts'
import { ERASED_NOTE } from './erased-row.ts'
import { createValueFinder } from './erased-values.ts'
import { beginErasure, listErasures, readErasure } from './erasure.ts'
import { changeBatch } from './change.ts'
import { getBatch } from './read.ts'
import { resultsText } from './results-fixture.ts'
import { runTask } from './run-task.ts'
import { createTaskLeases } from './task-lease.ts'
import { workErasure } from './work-erasures.ts'

const NEVER = new AbortController().signal

const LIST = [
  'email,phone,ip,domain,note',
  'ada@gone.example,020 7946 0123,192.0.2.77,gone.example,first',
  'nada@gone.example,+442079460124,192.0.2.7,not-gone.example,"was ada@gone.example, now nada"',
  'ADA@GONE.example,+44 20 7946 0123,2001:db8::77,www.gone.example,again',
  'bob@kept.example,+442079460125,192.0.2.177,gone.example.org,call 020 7946 0999',
  'eve@kept.example,+442079460126,198.51.100.1,kept.example,see http://gone.example/ada',
  'ada@gone.example,020 7946 0123,192.0.2.77,gone.example,first',
  ',,,,',
  ',,,,a stray ada@gone.example',
].join('\n')

const TARGET: EraseRequest = {
  email: ['ada@gone.example'],
  phone: '+442079460123',
  ip: ['192.0.2.77', '2001:0db8:0::77'],
  domain: 'GONE.example',
}

async function read(harness: ErasureHarness, id: string, format: 'csv' | 'ndjson') {
  return await resultsText(harness, id, { format, raw: true })
}

/** Values whose parts occur in no other value of the list. */
const MARKS = ['"ada@gone.example', '+442079460123', '020 7946 0123', '192.0.2.77', '2001:db8::77']

test('erased values are gone from rows, results and files, and other rows stay', async () => {
  await using harness = await openErasureHarness()
  const { pipeline, owner, facts } = harness
  const id = await harness.runBatch(LIST, {
    name: 'of ada@gone.example',
    fileName: 'ada@gone.example.csv',
  })
  expect(await harness.traces(MARKS)).not.toEqual([])
  await facts.memory.set([
    { key: 'email ADA@GONE.example', value: 1, ttlMs: 60_000 },
    { key: 'email bob@kept.example', value: 1, ttlMs: 60_000 },
  ])
  const begun = await harness.begin(TARGET)
  expect(begun).toMatchObject({ status: 'running', values: 5, completed_at: null })
  await harness.work()
  const receipt = await readErasure(pipeline, owner, begun.id)
  expect(receipt).toMatchObject({
    status: 'completed',
    erased: { batches: 1, rows: 6, uploads: 1, results: 1, facts: 1 },
  })
  expect(await harness.traces(MARKS)).toEqual([])
  expect(await facts.memory.get(['email bob@kept.example'])).toEqual([1])
  const lines = (await read(harness, id, 'ndjson')).trimEnd().split('\n')
  const rows = lines.map((line) => JSON.parse(line) as Row)
  expect(rows.map(({ input }) => input)).toEqual([
    { email: '', phone: '', ip: '', domain: '', note: 'first' },
    {
      email: 'nada@gone.example',
      phone: '+442079460124',
      ip: '192.0.2.7',
      domain: 'not-gone.example',
      note: 'was , now nada',
    },
    { email: '', phone: '', ip: '', domain: 'www.gone.example', note: 'again' },
    {
      email: 'bob@kept.example',
      phone: '+442079460125',
      ip: '192.0.2.177',
      domain: 'gone.example.org',
      note: 'call 020 7946 0999',
    },
    {
      email: 'eve@kept.example',
      phone: '+442079460126',
      ip: '198.51.100.1',
      domain: 'kept.example',
      note: 'see http:///ada',
    },
    { email: '', phone: '', ip: '', domain: '', note: 'first' },
    { email: '', phone: '', ip: '', domain: '', note: '' },
    { email: '', phone: '', ip: '', domain: '', note: 'a stray ' },
  ])
  expect(rows.map(({ error }) => error?.startsWith('erased:') === true)).toEqual([
    true,
    true,
    true,
    false,
    true,
    true,
    false,
    true,
  ])
  expect(rows.map(({ status }) => status)).toEqual([
    'done',
    'done',
    'done',
    'done',
    'done',
    'done',
    'blank',
    'refused',
  ])
  expect(rows[0]?.result?.['email']).toMatchObject({ address: '' })
  // The stored file agrees with the rows.
  expect(await read(harness, id, 'csv')).toContain('nada@gone.example')
  expect(await auditLedger(pipeline.db)).toEqual([])
})

interface Row {
  readonly input: Readonly<Record<string, string>>
  readonly status: string
  readonly error: string | null
  readonly result: Readonly<Record<string, unknown>> | null
}

test('other numbers of a JSON record from which a value is erased stay exactly as they came', async () => {
  await using harness = await openErasureHarness()
  const others = '"id":12345678901234567890,"price":1.50,"more":[1e400,{"x":-0.0}]'
  const lines = [
    `{"email":"ada@gone.example",${others}}`,
    `{"email":"bob@kept.example",${others},"note":"was ada@gone.example"}`,
    `{"email":"eve@kept.example",${others},"call":442079460123}`,
  ].join('\n')
  const asked = {
    fileName: 'list.ndjson',
    product: 'email',
    requested: { mapping: { email: 'email' } },
  } as const
  const id = await harness.runBatch(lines, asked)
  await harness.begin(TARGET)
  await harness.work()
  const rows = (await read(harness, id, 'ndjson')).trimEnd().split('\n')
  expect(rows.map((row) => /"input":(.*),"status"/.exec(row)?.[1])).toEqual([
    `{"email":"",${others}}`,
    `{"email":"bob@kept.example",${others},"note":"was "}`,
    `{"email":"eve@kept.example",${others},"call":""}`,
  ])
})

test('addresses of a domain are erased if so requested, and those of another domain are not', async () => {
  await using harness = await openErasureHarness()
  const id = await harness.runBatch(LIST)
  await harness.begin({ domain: 'gone.example', include_addresses: true })
  await harness.work()
  expect(await harness.traces(['@gone.example'])).toEqual([])
  const csv = await read(harness, id, 'csv')
  expect(csv).toContain('bob@kept.example')
  expect(csv).toContain('www.gone.example')
})

test('another account, and with a test key the data of live keys, is untouched', async () => {
  await using harness = await openErasureHarness()
  const { pipeline, owner } = harness
  const id = await harness.runBatch(LIST)
  const before = await read(harness, id, 'csv')
  const { rows } = await pipeline.db.pool.query<{ id: string }>(
    `insert into accounts (id, email, plan, time_zone)
     values ('acc_0000000000000000', 'x@y.example', 'pro', 'UTC') returning id`,
  )
  const other = { accountId: rows[0]?.id ?? '', mode: 'live' } as const
  const nothing = async (): Promise<void> => {}
  await beginErasure(pipeline, other, TARGET, nothing)
  await beginErasure(pipeline, { ...owner, mode: 'test' }, TARGET, nothing)
  await harness.work()
  expect(await read(harness, id, 'csv')).toBe(before)
})

test('an erasure that is killed at any statement continues, leaves no value, and counts each one once', async () => {
  await using harness = await openErasureHarness()
  const { pipeline, owner, facts } = harness
  const ids = [await harness.runBatch(LIST), await harness.runBatch(LIST)]
  const { id } = await harness.begin(TARGET)
  let deaths = 0
  for (let at = 1; ; at += 1 + Math.floor(at / 12)) {
    const dying = { ...pipeline, db: dyingDb(pipeline.db, at) }
    await workErasure({ pipeline: dying, facts }, NEVER).catch(() => {})
    await pipeline.db.pool.query("update erasures set lease_until = '-infinity'")
    const { status } = await readErasure(pipeline, owner, id)
    if (status === 'completed') break
    deaths += 1
  }
  expect(deaths).toBeGreaterThan(10)
  expect(await readErasure(pipeline, owner, id)).toMatchObject({
    erased: { batches: 2, rows: 12, uploads: 2, results: 2 },
  })
  expect(await harness.traces(MARKS)).toEqual([])
  for (const batch of ids)
    expect(await read(harness, batch, 'ndjson')).toContain('bob@kept.example')
})

test('an erasure of which any step is lost with its commit continues before it, and counts each value once', async () => {
  await using harness = await openErasureHarness()
  const { pipeline, owner, facts } = harness
  let lostCount = 0
  for (let at = 1, isLost = true; isLost; at += 1) {
    await harness.runBatch(LIST, { name: 'of ada@gone.example' })
    const { id } = await harness.begin(TARGET)
    isLost = false
    const db = losingDb(pipeline.db, (transaction) => {
      isLost ||= transaction === at
      return transaction === at
    })
    await workErasure({ pipeline: { ...pipeline, db }, facts }, NEVER)
    await harness.work()
    expect(await readErasure(pipeline, owner, id)).toMatchObject({
      status: 'completed',
      erased: { batches: 1, rows: 6, uploads: 1, results: 1 },
    })
    expect(await harness.traces(MARKS)).toEqual([])
    if (isLost) lostCount += 1
  }
  expect(lostCount).toBeGreaterThan(2)
})

test('a batch that is changed while its upload is searched is searched again when it was read', async () => {
  await using harness = await openErasureHarness()
  const { pipeline, owner } = harness
  // The value is in the first line only, which the second reading takes for a row.
  const { id } = await harness.read('ada@gone.example\nbob@kept.example\n', {
    autoStart: false,
    requested: { header: true },
  })
  const begun = await harness.begin(TARGET)
  let changes = 0
  const open: typeof pipeline.storage.open = async (key) => {
    if (changes++ === 0) await changeBatch(pipeline, owner, id, { header: false })
    return await pipeline.storage.open(key)
  }
  await harness.work({ ...pipeline, storage: { ...pipeline.storage, open } })
  expect(changes).toBeGreaterThan(0)
  expect(await readErasure(pipeline, owner, begun.id)).toMatchObject({ status: 'running' })
  await harness.workStages()
  await harness.work()
  expect(await readErasure(pipeline, owner, begun.id)).toMatchObject({ status: 'completed' })
  expect(await getBatch(pipeline, owner, id)).toMatchObject({ status: 'ready', rows: { total: 2 } })
  expect(await harness.traces(MARKS)).toEqual([])
})

test('a batch that was changed between two steps of its search is searched from its beginning', async () => {
  await using harness = await openErasureHarness()
  const { pipeline, owner } = harness
  const { id } = await harness.read(LIST, { product: 'contact-intel', autoStart: false })
  const begun = await harness.begin(TARGET)
  await pipeline.db.pool.query(
    `update erasures set place = place || '{"modes": ["test"], "chunkNo": 2, "readNo": 0}'
      || jsonb_build_object('batch', $1::text)`,
    [id],
  )
  await changeBatch(pipeline, owner, id, { default_country: 'GB' })
  await harness.workStages()
  await harness.work()
  expect(await readErasure(pipeline, owner, begun.id)).toMatchObject({ status: 'completed' })
  expect(await harness.traces(MARKS)).toEqual([])
})

test('an erasure is done while another account has older and longer ones', async () => {
  await using harness = await openErasureHarness()
  const { pipeline, owner, facts } = harness
  for (let batch = 0; batch < 4; batch += 1) await harness.runBatch(LIST)
  const long = [await harness.begin(TARGET), await harness.begin(TARGET)]
  const account = await createAccount(pipeline.db, { email: 'x@y.example', plan: 'pro' })
  const other = { accountId: account.id, mode: 'live' } as const
  let short = ''
  await beginErasure(pipeline, other, TARGET, async (_tx, { id }) => void (short = id))
  const isDone = async (of: typeof owner, id: string): Promise<boolean> =>
    (await readErasure(pipeline, of, id)).status === 'completed'
  // Each turn is a single step.
  const turn = (): Promise<boolean> => workErasure({ pipeline, facts, turnMs: 0 }, NEVER)
  while (!(await isDone(other, short))) expect(await turn()).toBe(true)
  for (const { id } of long) expect(await isDone(owner, id)).toBe(false)
  while (await turn()) {
    // Until all are done.
  }
  expect(await readErasure(pipeline, owner, long[0]?.id ?? '')).toMatchObject({
    status: 'completed',
    erased: { batches: 4, rows: 24, uploads: 4, results: 4 },
  })
  expect(await isDone(owner, long[1]?.id ?? '')).toBe(true)
  expect(await harness.traces(MARKS)).toEqual([])
})

test('other work of the process is done between the search of one chunk and that of the next', async () => {
  await using harness = await openErasureHarness()
  const { pipeline } = harness
  const batch = await readBatch(pipeline.db, await harness.runBatch(LIST))
  if (batch === undefined) throw new Error('the batch is gone')
  let rounds = 0
  let isOver = false
  const other = (): void => {
    rounds += 1
    if (!isOver) setImmediate(other)
  }
  other()
  const seen = new Map<string, number>()
  const values = erasedValuesOf({ email: 'nobody@gone.example' })
  const finder = createValueFinder({ values, includeAddresses: false })
  const noting = {
    ...finder,
    isErased: (check: Check, subject: string) => {
      // The first address occurs again in the second chunk.
      if (!seen.has(subject)) seen.set(subject, rounds)
      return false
    },
  }
  const forget = async () => ({ facts: 0, purchases: 0 })
  await blankChunks(pipeline, batch, 0, noting, { forget, note: async () => {} })
  isOver = true
  // A chunk has three rows.
  const chunks = ['ada@gone.example', 'bob@kept.example'].map((subject) => seen.get(subject))
  expect(chunks[1]).toBeGreaterThan(chunks[0] ?? Infinity)
})

test('an outcome that arrives after its subject was erased is blanked when it is stored', async () => {
  await using harness = await openErasureHarness()
  const { pipeline } = harness
  const { id } = await harness.read(LIST, {
    product: 'contact-intel',
    explain: true,
    defaultCountry: 'GB',
  })
  await harness.answer(3)
  await harness.begin(TARGET)
  await harness.work()
  expect(await harness.traces(MARKS)).toEqual([])
  await harness.answer()
  await closeFinishedBatches(pipeline.db)
  await harness.workStages()
  expect(await harness.traces(MARKS)).toEqual([])
  expect((await read(harness, id, 'csv')).split('\r\n')).toHaveLength(10)
  expect(await auditLedger(pipeline.db)).toEqual([])
})

test('a row whose address is erased before its check is charged for the number, and shows it', async () => {
  await using harness = await openErasureHarness()
  const { pipeline } = harness
  const { id } = await harness.read('email,phone\nada@gone.example,+442079460123\n', {
    product: 'deliverability',
  })
  using leases = createTaskLeases(pipeline)
  const asked = { slots: { email: 0, phone: 1, ip: 0, domain: 0 }, reserve: 0, leaseMs: 60_000 }
  for (const task of await leaseTasks(pipeline.db, asked)) {
    await runTask(pipeline, leases, (check) => instantEngine<Check>(check), task, NEVER)
  }
  await harness.begin({ email: 'ada@gone.example' })
  await harness.work()
  await harness.answer()
  await closeFinishedBatches(pipeline.db)
  await harness.workStages()
  const row = JSON.parse(await read(harness, id, 'ndjson')) as Row
  expect(row).toMatchObject({
    status: 'error',
    error: ERASED_NOTE,
    credits_charged: 2,
    result: { phone: { valid: true }, credits_used: 2 },
  })
  expect(await auditLedger(pipeline.db)).toEqual([])
  expect((await getBatch(pipeline, harness.owner, id)).credits).toMatchObject({
    used: 2,
    released: 1,
  })
})

test('all webhook messages of an account are searched, also if an earlier version has begun', async () => {
  await using harness = await openErasureHarness()
  const { db } = harness.pipeline
  const { accountId } = harness.owner
  await db.pool.query(
    `insert into webhook_endpoints (id, account_id, url, events, secret)
     select 'whk_000000000000000' || no, $1, 'https://a.example', '{batch.completed}', ''
     from generate_series(1, 2) no`,
    [accountId],
  )
  await db.pool.query(
    `insert into webhook_deliveries (id, endpoint_id, webhook_id, type, subject, body)
     select 'dlv_' || substr(md5(no::text), 1, 16), 'whk_000000000000000' || 1 + no % 2, 'msg_' || no,
       'batch.completed', '', '"to ada@gone.example"' from generate_series(1, 900) no`,
  )
  await harness.begin(TARGET)
  await db.pool.query(
    `update erasures set place = place || '{"step": "deliveries", "after": ["dlv_8"]}'`,
  )
  await harness.work()
  const { rows } = await db.pool.query('select distinct body from webhook_deliveries')
  expect(rows).toEqual([{ body: '"to "' }])
  const { rows: receipts } = await db.pool.query('select status, counts from erasures')
  expect(receipts).toMatchObject([{ status: 'completed', counts: { deliveries: 900 } }])
})

test('a waiting message about a batch is replaced by one with its name after the erasure', async () => {
  await using harness = await openErasureHarness()
  const { db } = harness.pipeline
  const { accountId } = harness.owner
  const id = await harness.runBatch('email\neve@kept.example', { name: 'of ada@gone.example' })
  await db.pool.query(
    `insert into users (id, name, email, email_key, password_digest)
     values ('usr_1', 'Ada', 'ada@company.example', 'ada', '')`,
  )
  await db.pool.query(
    `insert into members (account_id, user_id, role) values ('${accountId}', 'usr_1', 'owner')`,
  )
  await db.pool.query(`insert into batch_watchers (batch_id, user_id) values ('${id}', 'usr_1')`)
  const take = async (): Promise<readonly (string | null)[]> =>
    await inTransaction(db, async (tx) => {
      const ended = await takeEndedBatches(tx, 10)
      for (const { mailKey } of ended) {
        await insertMail(tx, { kind: 'batch_ended', sealed: '', hours: 1, withdrawKey: mailKey })
      }
      return ended.map(({ name }) => name)
    })
  expect(await take()).toEqual(['of ada@gone.example'])
  await harness.begin(TARGET)
  await harness.work()
  expect((await db.pool.query('select from mails')).rowCount).toBe(0)
  expect(await take()).toEqual(['of '])
  await harness.begin(TARGET)
  await harness.work()
  expect((await db.pool.query('select from mails')).rowCount).toBe(1)
})

test('stored responses that show a value are emptied, and no others', async () => {
  await using harness = await openErasureHarness()
  const { pipeline, owner } = harness
  const { db, installationKey } = pipeline
  const keep = async (key: string, body: string): Promise<void> => {
    const name = `answer ${owner.accountId} ${owner.mode} /v1/email ${key}`
    await db.pool.query(
      `insert into idempotency_keys (account_id, mode, path, key, fingerprint, op_key, claimed_at,
         expires_at, status, body)
       values ($1, $2, '/v1/email', $3, $4, 'op', now(), now() + interval '1 day', 200, $5)`,
      [owner.accountId, owner.mode, key, randomBytes(32), installationKey.encrypt(body, name)],
    )
  }
  for (let at = 0; at < 250; at++) await keep(`k${at}`, `{"email":"u${at}@a.example"}`)
  await harness.begin({ email: ['U7@a.example', 'u249@A.example'] })
  await harness.work()
  const { rows } = await db.pool.query<{ key: string }>(
    "select key from idempotency_keys where body = '' order by key",
  )
  expect(rows.map(({ key }) => key)).toEqual(['k249', 'k7'])
})

test('receipts are listed newest first, in pages, for their owner and mode only', async () => {
  await using harness = await openErasureHarness()
  const { pipeline, owner } = harness
  const begun: string[] = []
  for (const at of [1, 2, 3]) begun.unshift((await harness.begin({ ip: `192.0.2.${at}` })).id)
  const first = await listErasures(pipeline, owner, { limit: 2, cursor: undefined })
  expect(first.data.map(({ id }) => id)).toEqual(begun.slice(0, 2))
  expect(first.next_cursor).toBe(begun[1])
  const cursor = first.next_cursor ?? 'none'
  // One that begins meanwhile does not shift the pages.
  await harness.begin({ ip: '192.0.2.4' })
  const second = await listErasures(pipeline, owner, { limit: 2, cursor })
  expect(second.data.map(({ id }) => id)).toEqual(begun.slice(2))
  expect(second.next_cursor).toBeNull()
  for (const other of [
    { ...owner, mode: owner.mode === 'live' ? 'test' : 'live' },
    { ...owner, accountId: 'acc_of_others' },
  ] as const) {
    const nothing = await listErasures(pipeline, other, { limit: 2, cursor: undefined })
    expect(nothing).toEqual({ data: [], next_cursor: null })
    await expect(listErasures(pipeline, other, { limit: 2, cursor })).rejects.toMatchObject({
      code: 'bad_request',
    })
  }
})
