import { gzipSync } from 'node:zlib'
import { checksOf, type Check, type Product } from '@plumbline/contract/products'
import { RESULTS } from '@plumbline/contract/results'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { backends, type Backend } from '@plumbline/testkit/backends'
import {
  call,
  creditsOf,
  expectSettled,
  formOf,
  readCells,
  readLines,
  runBatch,
  type Caller,
} from '@plumbline/testkit/batches'
import { isOneBackend, oneBackend } from '@plumbline/testkit/one-backend'
import { PATIENT } from '@plumbline/testkit/patience'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { PRICES } from '@plumbline/testkit/prices'
import { startService, type TestService } from '@plumbline/testkit/service'

// The seven products in single calls and as rows of batches, with equal results.

const VALUES = {
  email: 'ada@example.com',
  phone: '+14155550123',
  ip: '8.8.8.8',
  domain: 'example.com',
} as const satisfies Record<Check, string>

// The fields of spec.md section 2 in its order.
const FIELDS: Readonly<Record<Product, string>> = {
  email:
    'email valid deliverable syntax_valid mx_found smtp_valid disposable role_account free_provider domain credits_used',
  deliverability:
    'email deliverable confidence syntax_valid mx_found smtp_valid spam_trap disposable catch_all role_account free_provider domain phone credits_used',
  ip: 'ip valid country country_code region city latitude longitude timezone isp asn is_vpn is_proxy is_tor is_datacenter threat_score credits_used',
  phone:
    'phone valid reachable country country_code national_format line_type carrier carrier_country ported roaming credits_used',
  domain:
    'domain valid registered registrar created_date expiry_date age_days dns_healthy mx_found spf_found dmarc_found disposable parked safety_score credits_used',
  'contact-intel': 'email phone ip domain credits_used',
  'fraud-signals': 'fraud_score risk_level email phone ip domain credits_used',
}

const PART_FIELDS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  deliverability: { phone: 'number valid reachable line_type carrier country_code' },
  'contact-intel': {
    email: 'address valid deliverable disposable role_account mx_found',
    phone: 'number valid reachable line_type carrier country_code',
    ip: 'address country_code city is_vpn is_proxy is_tor threat_score',
    domain: 'domain registered age_days dns_healthy disposable safety_score',
  },
  'fraud-signals': {
    email: 'address valid deliverable disposable spam_trap role_account',
    phone: 'number valid reachable line_type carrier ported',
    ip: 'address country_code is_vpn is_proxy is_tor is_datacenter threat_score',
    domain: 'domain registered age_days disposable safety_score',
  },
}

type Values = { readonly [C in Check]?: string }
/** A result as JSON. */
type Result = Readonly<Record<string, unknown>>

/** Chunks so small that duplicates are in later ones. */
const SMALL_CHUNKS = { CHUNK_RECORDS: '4', SWEEP_SECONDS: '1' }
const EVERYTHING = ['email', 'phone', 'ip', 'domain', 'batch'] as const

describe.each(backends())('on $name', ({ name, redisUrl }) => {
  let stack: AsyncDisposableStack
  let service: TestService

  beforeAll(async () => {
    stack = new AsyncDisposableStack()
    const database = stack.use(await createTestDatabase())
    service = stack.use(
      await startService({
        databaseUrl: database.url,
        redisUrl,
        workers: [EVERYTHING],
        env: SMALL_CHUNKS,
      }),
    )
  })
  afterAll(() => stack.disposeAsync())

  async function callerWith(credits: number): Promise<Caller> {
    const account = await service.account({ plan: 'free' })
    const caller = { service, account, key: account.liveKey }
    await leave(caller, credits)
    return caller
  }

  test('every price of the tables, with exactly the fields of the product in their order', async () => {
    const caller = await callerWith(80)
    let left = 80
    for (const [product, checks, price] of PRICES) {
      const response = await call(caller, 'POST', `/v1/${product}`, valuesOf(checks))
      const result = (await response.json()) as Result
      const named = `${product} of ${checks.join(', ')}`
      expect([named, response.status, result['credits_used']]).toEqual([named, 200, price])
      expect(RESULTS[product].safeParse(result).error).toBeUndefined()
      expectFields(product, checks, result)
      left -= price
      expect(response.headers.get('x-credits-charged')).toBe(String(price))
      expect(response.headers.get('x-credits-remaining')).toBe(String(left))
    }
    await untilAnswered(caller)
    await expectSettled(caller, left)
  })

  test('402 below the price debits nothing, and at a balance of zero any body gets it', async () => {
    const caller = await callerWith(2)
    const short = await call(caller, 'POST', '/v1/contact-intel', valuesOf(['email', 'phone']))
    await expectRefusal(short, 402, 'Payment Required')
    expect(await creditsOf(caller)).toEqual({ left: 2, held: 0 })
    expect((await call(caller, 'POST', '/v1/phone', { phone: VALUES.phone })).status).toBe(200)
    for (const body of [{ email: VALUES.email }, { nonsense: true }, undefined]) {
      const response = await call(caller, 'POST', '/v1/email', body)
      expect(response.headers.get('x-credits-remaining')).toBe('0')
      await expectRefusal(response, 402, 'Payment Required')
    }
    await untilAnswered(caller)
    await expectSettled(caller, 0)
  })

  test('a test key answers every product with its fields and touches no credits', async () => {
    const account = await service.account({ plan: 'starter' })
    const caller = { service, account, key: account.testKey }
    const before = await creditsOf(caller)
    for (const [product, checks, price] of PRICES) {
      const response = await call(caller, 'POST', `/v1/${product}`, valuesOf(checks))
      const result = (await response.json()) as Result
      expect([product, response.status, result['credits_used']]).toEqual([product, 200, price])
      expect(RESULTS[product].safeParse(result).error).toBeUndefined()
      expectFields(product, checks, result)
      expect(response.headers.get('x-credits-charged')).toBe('0')
    }
    await expectSettled(caller, before.left)
  })

  describe.each(Object.keys(FIELDS).filter(isProduct))('a line of a batch of %s', (product) => {
    test.each(FORMS.filter(({ on }) => isOneBackend(name, on)))(
      'equals the single call, in $name',
      async (form) => {
        const account = await service.account({ credits: 500 })
        const caller = { service, account, key: account.liveKey }
        const { left } = await creditsOf(caller)
        const records = RECORDS[product]
        const batch = await runBatch(caller, form.body(product, records))
        expect([batch.error, batch.status]).toEqual([null, 'completed'])
        const kinds = records.map(({ kind }) => kind)
        const rows = await readLines(caller, batch.id)
        expect(rows.map(({ status }) => status)).toEqual(
          kinds.map((kind) => (kind === 'billable' || kind === 'duplicate' ? 'done' : kind)),
        )
        expect(batch.rows).toMatchObject({
          total: kinds.length,
          done: kinds.length,
          ...countsOf(kinds),
        })

        const expected = await askEach(caller, product, records)
        expect(rows.map(({ result }) => JSON.stringify(result))).toEqual(
          expected.map((result) => JSON.stringify(result)),
        )
        const charged = expected.map((result, at) =>
          kinds[at] === 'billable' ? Number(result?.['credits_used']) : 0,
        )
        expect(rows.map((row) => row.credits_charged)).toEqual(charged)
        expect(rows.map(({ error }) => error?.split(':')[0] ?? null)).toEqual(
          records.map((record) => record.fault ?? null),
        )
        await expectColumns(caller, batch.id, expected, charged)

        const used = charged.reduce((sum, credits) => sum + credits, 0)
        const calls = expected.reduce(
          (sum, result) => sum + Number(result?.['credits_used'] ?? 0),
          0,
        )
        expect(batch.credits).toEqual({ estimate: used, held: 0, used, released: 0 })
        await untilAnswered(caller)
        await expectSettled(caller, left - used - calls)
      },
    )
  })
})

// In a group of its own: services on one Redis would process each other's jobs.
describe.each(oneBackend('redis'))('on $name', ({ redisUrl }) => {
  test('unknown parts are refunded if the operator chooses so, in calls and batches alike', async () => {
    await using database = await createTestDatabase()
    await using lenient = await startService({
      databaseUrl: database.url,
      redisUrl,
      workers: [EVERYTHING],
      env: { ...SMALL_CHUNKS, CHARGE_UNKNOWN: 'false' },
    })
    const account = await lenient.account({ credits: 200 })
    const caller = { service: lenient, account, key: account.liveKey }
    const { left } = await creditsOf(caller)
    const records = Array.from({ length: 12 }, (_, at) => ({
      email: `person${at}@example.com`,
      domain: `company${at}.example`,
    }))
    const charged: number[] = []
    for (const record of records) {
      const response = await call(caller, 'POST', '/v1/contact-intel', record)
      expect(((await response.json()) as Result)['credits_used']).toBe(3)
      charged.push(Number(response.headers.get('x-credits-charged')))
    }
    expect(new Set(charged).size).toBeGreaterThan(1)
    const used = charged.reduce((sum, credits) => sum + credits, 0)
    await untilAnswered(caller)
    await expectSettled(caller, left - used)
    const batch = await runBatch(caller, { product: 'contact-intel', records })
    expect(batch.credits).toEqual({
      estimate: 3 * records.length,
      held: 0,
      used,
      released: 3 * records.length - used,
    })
    const rows = await readLines(caller, batch.id)
    expect(rows.map((row) => row.credits_charged)).toEqual(charged)
    expect(rows.map(({ result }) => result?.['credits_used'])).toEqual(records.map(() => 3))
    await expectSettled(caller, left - 2 * used)
  })
})

/** A record of a batch: its cells, and the request of the equivalent single call. */
interface ListRecord {
  readonly cells: Values
  /** Null if the record is blank or refused. */
  readonly asks: Values | null
  readonly kind: 'billable' | 'duplicate' | 'refused' | 'blank'
  /** The part that the row's error names. */
  readonly fault?: Check
}

const asked = (cells: Values, asks: Values = cells, fault?: Check): ListRecord => ({
  cells,
  asks,
  kind: 'billable',
  ...(fault === undefined ? {} : { fault }),
})
const repeat = (cells: Values, asks: Values = cells): ListRecord => ({
  cells,
  asks,
  kind: 'duplicate',
})
const refused = (cells: Values, fault: Check): ListRecord => ({
  cells,
  asks: null,
  kind: 'refused',
  fault,
})
const BLANK: ListRecord = { cells: {}, asks: null, kind: 'blank' }

const EMAILS: readonly ListRecord[] = [
  asked({ email: 'ada@example.com' }),
  asked({ email: 'Grace.Hopper@Example.COM' }),
  BLANK,
  asked({ email: 'not an address' }),
  asked({ email: '=cmd@example.com' }),
  ...Array.from({ length: 12 }, (_, at) => asked({ email: `person${at}@company.example` })),
  asked({ email: 'a,"quoted"@example.com' }),
  repeat({ email: 'ada@example.com' }),
  repeat({ email: 'Grace.Hopper@example.com' }),
  asked({ email: 'Ada@example.com' }),
  asked({ email: '  last@example.com ' }, { email: 'last@example.com' }),
  repeat({ email: 'not an address' }),
]

const BUNDLES: readonly ListRecord[] = [
  asked({ email: 'ada@example.com', phone: '+14155550123' }),
  asked({ email: 'bob@example.com' }),
  asked(
    { email: 'cyd@example.com', phone: '(415) 555-2671' },
    { email: 'cyd@example.com', phone: '+14155552671' },
  ),
  BLANK,
  asked({ email: 'dan@example.com', phone: 'ask him' }, { email: 'dan@example.com' }, 'phone'),
  refused({ phone: '+14155550124' }, 'email'),
  asked({ email: 'malformed', phone: '+1' }),
  repeat({ email: 'ada@EXAMPLE.com', phone: '+14155550123' }),
  ...Array.from({ length: 9 }, (_, at) => asked({ email: `unknown${at}@company.example` })),
  repeat({ email: 'bob@example.com' }),
]

const FULL_BUNDLES: readonly ListRecord[] = [
  ...BUNDLES,
  asked({ ...VALUES, email: 'full@example.com' }),
  asked({ email: 'eve@example.com', ip: '10.0.0.7', domain: 'Company1.Example' }),
  asked({ email: 'fay@example.com', ip: '2001:DB8::1', domain: 'company2.example' }),
  asked({ email: 'gus@example.com', ip: '999.1.1.1' }, { email: 'gus@example.com' }, 'ip'),
  asked({ email: 'hal@example.com', domain: 'no name' }, { email: 'hal@example.com' }, 'domain'),
  repeat({ email: 'fay@example.com', ip: '2001:db8:0::1', domain: 'COMPANY2.example' }),
  repeat({ ...VALUES, email: 'full@example.com' }),
]

const RECORDS: Readonly<Record<Product, readonly ListRecord[]>> = {
  email: EMAILS,
  deliverability: BUNDLES,
  'contact-intel': FULL_BUNDLES,
  'fraud-signals': FULL_BUNDLES,
  ip: [
    asked({ ip: '8.8.8.8' }),
    asked({ ip: '10.1.2.3' }),
    BLANK,
    refused({ ip: '8.8.8' }, 'ip'),
    asked({ ip: '2001:4860:4860::8888' }),
    asked({ ip: '192.168.0.1' }),
    repeat({ ip: '2001:4860:4860:0::8888' }),
    ...Array.from({ length: 8 }, (_, at) => asked({ ip: `93.184.216.${at}` })),
    repeat({ ip: '8.8.8.8' }),
  ],
  phone: [
    asked({ phone: '+14155550123' }),
    asked({ phone: '(415) 555-2671' }, { phone: '+14155552671' }),
    BLANK,
    refused({ phone: 'none' }, 'phone'),
    asked({ phone: '+1' }),
    asked({ phone: '+44 20 7946 0123' }, { phone: '+442079460123' }),
    repeat({ phone: '415-555-2671' }, { phone: '+14155552671' }),
    ...Array.from({ length: 6 }, (_, at) => asked({ phone: `+1415555300${at}` })),
    repeat({ phone: '+14155550123' }),
  ],
  domain: [
    asked({ domain: 'example.com' }),
    asked({ domain: 'Example.ORG' }),
    BLANK,
    asked({ domain: 'https://www.example.net/path?q=1' }, { domain: 'www.example.net' }),
    refused({ domain: '8.8.8.8' }, 'domain'),
    repeat({ domain: 'EXAMPLE.com' }),
    ...Array.from({ length: 8 }, (_, at) => asked({ domain: `unknown${at}.example` })),
    repeat({ domain: 'example.org' }),
  ],
}

interface ListForm {
  readonly name: string
  /** Every product is on both backends, and a form, which is read before the queue, on one. */
  readonly on: Backend['name']
  body(product: Product, records: readonly ListRecord[]): unknown
}

const COUNTRY = { default_country: 'US' }

function table(product: Product, records: readonly ListRecord[], delimiter: string): string {
  const names = checksOf(product)
  const cellOf = (text: string): string =>
    /[",\t\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
  const lines = records.map(({ cells }) =>
    names.map((name) => cellOf(cells[name] ?? '')).join(delimiter),
  )
  // One column alone would make a blank row an empty line, which is one too.
  return `${names.join(delimiter)}\r\n${lines.join('\r\n')}\r\n`
}

function jsonOf({ cells }: ListRecord): string {
  return JSON.stringify(cells)
}

const FORMS: readonly ListForm[] = [
  {
    name: 'csv',
    on: 'postgres',
    body: (product, records) =>
      formOf({ product, ...COUNTRY }, table(product, records, ','), 'list.csv'),
  },
  {
    name: 'gzipped tsv',
    on: 'redis',
    body: (product, records) =>
      formOf(
        { product, ...COUNTRY },
        new Uint8Array(gzipSync(table(product, records, '\t'))),
        'list.tsv.gz',
      ),
  },
  {
    name: 'ndjson',
    on: 'redis',
    body: (product, records) =>
      formOf(
        { product, ...COUNTRY },
        records.map((record) => (record.kind === 'blank' ? '' : jsonOf(record))).join('\n'),
        'list.ndjson',
      ),
  },
  {
    name: 'JSON records',
    on: 'postgres',
    body: (product, records) => ({
      product,
      ...COUNTRY,
      records: records.map(({ cells }) => cells),
    }),
  },
]

function countsOf(kinds: readonly ListRecord['kind'][]): Readonly<Record<string, number>> {
  const count = (wanted: string): number => kinds.filter((kind) => kind === wanted).length
  return {
    blank: count('blank'),
    refused: count('refused'),
    duplicate: count('duplicate'),
    billable: count('billable'),
  }
}

/** The result of a single call for each record; null if there is no request. */
async function askEach(
  caller: Caller,
  product: Product,
  records: readonly ListRecord[],
): Promise<readonly (Result | null)[]> {
  return await Promise.all(
    records.map(async ({ asks }) => {
      if (asks === null) return null
      const response = await call(caller, 'POST', `/v1/${product}`, asks)
      const result = (await response.json()) as Result
      expect([response.status, result]).toEqual([200, expect.anything()])
      return result
    }),
  )
}

/** Asserts that the columns of the CSV result have the same values, escaped or raw. */
async function expectColumns(
  caller: Caller,
  id: string,
  expected: readonly (Result | null)[],
  charged: readonly number[],
): Promise<void> {
  for (const query of ['', '&raw=1']) {
    const [names = [], ...rows] = await readCells(caller, id, query)
    expect(rows.length).toBe(expected.length)
    const results = rows.map((cells) =>
      Object.fromEntries(
        names.flatMap((name, at) =>
          /^result\.(?!.*\.(?:status|reason)$|credits_charged|error|advice|why|suggestion)/.test(
            name,
          )
            ? [[name, query === '' ? (cells[at] ?? '').replace(/^'(?=[=+\-@])/, '') : cells[at]]]
            : [],
        ),
      ),
    )
    const columns = names.filter((name) => Object.hasOwn(results[0] ?? {}, name))
    expect(results).toEqual(expected.map((result) => cellsOfResult(result, columns)))
    const at = names.indexOf('result.credits_charged')
    expect(rows.map((cells) => Number(cells[at]))).toEqual(charged)
  }
}

function cellsOfResult(result: Result | null, columns: readonly string[]): Record<string, string> {
  const flat = new Map<string, string>()
  for (const [name, value] of Object.entries(result ?? {})) {
    if (typeof value !== 'object' || value === null) flat.set(`result.${name}`, cellOf(value))
    else
      for (const [inner, of] of Object.entries(value))
        flat.set(`result.${name}.${inner}`, cellOf(of))
  }
  for (const name of flat.keys()) expect(columns).toContain(name)
  return Object.fromEntries(columns.map((name) => [name, flat.get(name) ?? '']))
}

function cellOf(value: unknown): string {
  if (value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function valuesOf(checks: readonly Check[]): Values {
  return Object.fromEntries(checks.map((check) => [check, VALUES[check]]))
}

function isProduct(name: string): name is Product {
  return Object.hasOwn(RESULTS, name)
}

/** Asserts that a result has the product's fields in order, with nested ones only for inputs that were sent. */
function expectFields(product: Product, checks: readonly Check[], result: Result): void {
  const parts = PART_FIELDS[product] ?? {}
  const absent = (field: string): boolean =>
    parts[field] !== undefined && !checks.some((check) => check === field)
  const fields = FIELDS[product].split(' ').filter((field) => !absent(field))
  expect(Object.keys(result)).toEqual(fields)
  for (const field of fields) {
    const part = parts[field]
    if (part !== undefined) expect(Object.keys(Object(result[field]))).toEqual(part.split(' '))
  }
}

async function expectRefusal(response: Response, status: number, error: string): Promise<void> {
  const body: unknown = await response.json()
  expect([response.status, body]).toEqual([status, { error, message: expect.any(String) }])
}

/** Waits until writes that follow the responses are done. */
async function untilAnswered({ service, account }: Caller): Promise<void> {
  await expect
    .poll(async () => {
      const { rows } = await service.db.pool.query<{ open: number }>(
        'select count(*)::int as open from credit_unanswered where account_id = $1',
        [account.id],
      )
      return rows[0]?.open
    }, PATIENT)
    .toBe(0)
}

/** Spends an account's credits until this many are left. */
async function leave(caller: Caller, credits: number): Promise<void> {
  const { left } = await creditsOf(caller)
  const records = Array.from({ length: left - credits }, (_, at) => ({ ip: `1.2.3.${at}` }))
  await runBatch(caller, { product: 'ip', records })
}
