import { fork } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { mkdir, readFile, rm } from 'node:fs/promises'
import { once } from 'node:events'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import type { BatchView } from '@plumbline/contract/batch-view'
import { createClient } from '@plumbline/client/client'
import { progressLine } from '@plumbline/client/progress'
import { table } from '@plumbline/cli/table'
import { lockDataDir } from '@plumbline/local/data-dir-lock'
import Papa from 'papaparse'
import { spawnSimnet } from '../simnet/child.ts'

// npm run demo [-- ROWS]: the service and a simulated internet (DNS, SMTP, RDAP, WHOIS, HLR) on
// loopback; a file of 2,000 contacts is processed with the product fraud-signals.

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const CONTACTS = fileURLToPath(new URL('contacts.csv', import.meta.url))
/** Folders of demos that run at the same time. */
const FOLDERS = ['demo', 'demo-2', 'demo-3', 'demo-4'].map((name) => join(ROOT, '.data', name))
const SHOWN_COLUMNS = [
  'E-mail',
  'result.fraud_score',
  'result.risk_level',
  'result.email.status',
  'result.email.reason',
  'result.ip.country_code',
  'result.domain.age_days',
]

/** Variables of the system, Node and the C library. */
const PLAIN_VARIABLES = /^(?:PATH|HOME|USER|LANG|LC_.*|TZ|TMPDIR|TERM|NODE_.*|LD_.*|MALLOC_.*)$/

/** Number of contacts to use; all by default. */
const wantedRows = Number(process.argv[2] ?? Number.POSITIVE_INFINITY)

// The progress line as shown last.
let shown = ''

await using folder = await lockFolder()
const dataDir = join(folder.path, 'data')
await rm(dataDir, { recursive: true, force: true })
console.log('Starting a simulated internet, and the service ...')
const simnet = await spawnSimnet({ seed: 1 })
const service = await startService(simnet.settings)
try {
  await enrich(service)
  // On a terminal the service stays open for its user; a script only needs the output.
  if (process.stdout.isTTY) await untilInterrupted()
} finally {
  service.stop()
  // The service may have received the same ctrl-C.
  if (service.process.exitCode === null) await once(service.process, 'exit')
  await simnet[Symbol.asyncDispose]()
}

/** Locks the first folder that no other demo uses. @throws if all are in use */
async function lockFolder(): Promise<AsyncDisposable & { readonly path: string }> {
  const errors: unknown[] = []
  for (const path of FOLDERS) {
    await mkdir(path, { recursive: true })
    try {
      return { path, ...(await lockDataDir(path)) }
    } catch (error) {
      errors.push(error)
    }
  }
  throw new AggregateError(errors, 'no folder for the demo')
}

interface DemoService {
  readonly url: string
  readonly liveKey: string
  /** A link that opens the account in a browser, valid for an hour. */
  readonly welcomeUrl: string
  readonly process: ReturnType<typeof fork>
  stop(): void
}

/** Starts `services/local` as `npm start` does, on a data directory of its own. */
async function startService(settings: Readonly<Record<string, string>>): Promise<DemoService> {
  const child = fork(join(ROOT, 'services/local/src/main.ts'), {
    env: {
      ...plainEnvironment(),
      ...settings,
      DATA_DIR: dataDir,
      // The defaults are for real providers; simulated ones have no such limits.
      SMTP_CONNECTIONS_PER_HOST: '10',
      SMTP_RECIPIENTS_PER_MINUTE: '60000',
      REGISTRY_QUERIES_PER_SECOND: '20',
      HLR_QUERIES_PER_SECOND: '200',
      HLR_CONNECTIONS: '50',
      // Small chunks and frequent saves, so that there is something to watch.
      CHUNK_RECORDS: '100',
      SAVE_SECONDS: '1',
      PORT: '0',
      ADMIN_PORT: '0',
    },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  let greeting = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    greeting += text
  })
  await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => {
      throw new Error(`the service did not start:\n${greeting}`)
    }),
  ])
  const url = /listens on (\S+)/.exec(greeting)?.[1]
  if (url === undefined) throw new Error(`unexpected greeting: ${greeting}`)
  // Safe because the service that has just started wrote it.
  const first = JSON.parse(await readFile(join(dataDir, 'first-keys.json'), 'utf8')) as {
    readonly live_key: string
    readonly welcome_url: string
  }
  const { live_key: liveKey, welcome_url: welcomeUrl } = first
  return { url, liveKey, welcomeUrl, process: child, stop: () => child.kill('SIGTERM') }
}

/**
 * The variables of this process without settings, which may be those of a service on this machine: its
 * ports, file store and proxy are not for the demo.
 */
function plainEnvironment(): NodeJS.ProcessEnv {
  const all = Object.entries(process.env)
  return Object.fromEntries(all.filter(([name]) => PLAIN_VARIABLES.test(name)))
}

async function enrich({ url, liveKey, welcomeUrl }: DemoService): Promise<void> {
  const client = createClient({ baseUrl: url, key: liveKey })
  const before = await client.account()
  const startMs = performance.now()
  const created = await client.batches.create({
    product: 'fraud-signals',
    name: 'demo',
    defaultCountry: 'DE',
    file: await contactsFile(),
    fileName: 'contacts.csv',
  })
  console.log(`Uploaded test/demo/contacts.csv as ${created.id}`)
  const batch = await client.batches.wait(created.id, { everyMs: 250, onProgress: showProgress })
  const seconds = (performance.now() - startMs) / 1000
  process.stdout.write('\n\n')
  if (batch.status !== 'completed') {
    throw new Error(`the batch ended as ${batch.status}: ${JSON.stringify(batch.error)}`)
  }
  const path = join(folder.path, 'contacts-result.csv')
  const results = await client.batches.results(batch.id)
  await pipeline(Readable.fromWeb(results.body), createWriteStream(path))
  const after = await client.account()
  const rows = await readResult(path)
  console.log(`${batch.rows.total} rows in ${seconds.toFixed(1)} s`)
  show(['rows', 'count'], verdictCounts(batch, rows))
  show(
    ['credits', 'count'],
    [
      ['credits before', String(creditsOf(before))],
      ['credits used', String(batch.credits.used)],
      ['credits after', String(creditsOf(after))],
    ],
  )
  const cells = rows.slice(0, 8).map((row) => SHOWN_COLUMNS.map((column) => row[column] ?? ''))
  show(
    SHOWN_COLUMNS.map((column) => column.replace('result.', '')),
    cells,
  )
  console.log(`\nThe result file: ${path}`)
  // Without a terminal the service ends with this program.
  if (process.stdout.isTTY) console.log(`The batch in the app: ${linkTo(batch.id, welcomeUrl)}`)
}

async function contactsFile(): Promise<Blob> {
  const { data } = Papa.parse<string[]>(await readFile(CONTACTS, 'utf8'))
  return new Blob([Papa.unparse(data.slice(0, wantedRows + 1))], { type: 'text/csv' })
}

/** The welcome link of the account, which leads to the batch. */
function linkTo(batchId: string, welcomeUrl: string): string {
  const link = new URL(welcomeUrl)
  link.searchParams.set('next', `/app/batches/${batchId}`)
  return link.href
}

async function untilInterrupted(): Promise<void> {
  console.log('The service runs until ctrl-C.')
  const { promise, resolve } = Promise.withResolvers<void>()
  // Not once: one ctrl-C arrives twice, from the terminal and forwarded by the launcher.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => resolve())
  await promise
}

/** Redraws one line on a terminal; elsewhere prints a line for each visible step. */
function showProgress(batch: BatchView): void {
  const line = progressLine(batch)
  if (process.stdout.isTTY) process.stdout.write(`\r${line}   `)
  else if (line.slice(0, 40) !== shown) console.log(line)
  shown = line.slice(0, 40)
}

/** Prints a table with a blank line before it. */
function show(headings: readonly string[], rows: readonly (readonly string[])[]): void {
  const hasColors = process.stdout.isTTY && process.stdout.hasColors()
  process.stdout.write(`\n${table(headings, rows, { hasColors })}`)
}

/** Numbers of rows by risk level and by status of the email; duplicates are included in both. */
function verdictCounts(
  batch: BatchView,
  rows: readonly Readonly<Record<string, string>>[],
): readonly (readonly [string, string])[] {
  return [
    ...countsOf(rows, 'risk', 'result.risk_level'),
    ...countsOf(rows, 'email', 'result.email.status'),
    ['refused', String(batch.rows.refused)],
    ['blank', String(batch.rows.blank)],
    ['duplicate', String(batch.rows.duplicate)],
  ]
}

function countsOf(
  rows: readonly Readonly<Record<string, string>>[],
  what: string,
  column: string,
): readonly (readonly [string, string])[] {
  const kinds = Object.groupBy(rows, (row) => row[column] || 'none')
  return Object.entries(kinds)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([kind, group]) => [`${what} ${kind}`, String(group?.length ?? 0)])
}

function creditsOf({ credits }: { credits: { allowance: number; packs: number } }): number {
  return credits.allowance + credits.packs
}

async function readResult(path: string): Promise<readonly Readonly<Record<string, string>>[]> {
  const { data } = Papa.parse<Record<string, string>>(await readFile(path, 'utf8'), {
    header: true,
    skipEmptyLines: true,
  })
  return data
}
