import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { table } from '@plumbline/cli/table'
import { openDatabase } from '@plumbline/db/database'
import { freePort } from '@plumbline/testkit/child-server'
import lighthouse, { type Result } from 'lighthouse'
import { faultsOfPage, settle } from '../integration/axe.ts'
import { openWindow, type TestWindow } from '../integration/chromium.ts'
import { addManyBatches } from '../integration/many-batches.ts'
import { fillAccount, SIGN_IN_PAGES, pagesOf, signUp } from '../integration/web-seed.ts'
import { spawnSimnet } from '../simnet/child.ts'
import { interactions } from './interaction.ts'
import { startLocal } from './local.ts'

// Measures the web app against its limits.

const DIST = fileURLToPath(new URL('../../services/web/dist/', import.meta.url))

/** Limit of the first load, compressed, in bytes. */
const FIRST_LOAD_BYTES = 60_000
/** Minimum scores of Lighthouse with mobile settings. */
const LEAST = { performance: 95, accessibility: 100, 'best-practices': 100 } as const
/** Limit from an input to the next paint, in ms. */
const INTERACTION_MS = 100
/** Measurements of a page, of which the median counts, because of other load on the machine. */
const RUNS = 3
/** The parts of the performance score, with the heading of each column. */
const METRICS = {
  'first-contentful-paint': 'first paint',
  'largest-contentful-paint': 'largest',
  'total-blocking-time': 'blocked',
  'speed-index': 'speed index',
  'cumulative-layout-shift': 'shift',
} as const

const faults: string[] = []

/**
 * Measures size, accessibility and performance, and prints the results; returns whether all are
 * within their limits.
 */
export async function check(): Promise<boolean> {
  measureSize()
  await checkPages()
  for (const fault of faults) console.log(`FAULT ${fault}`)
  console.log(
    faults.length === 0 ? '\nAll figures are within their limits.' : `\n${faults.length} faults.`,
  )
  return faults.length === 0
}

/** Measures the scripts and styles of the first load, and those of each page. */
function measureSize(): void {
  const page = readFileSync(join(DIST, 'index.html'), 'utf8')
  const first = [...page.matchAll(/(?:src|href)="\/app\/(assets\/[^"]+)"/g)].map(
    ([, at = '']) => at,
  )
  const rest = readdirSync(join(DIST, 'assets')).map((name) => `assets/${name}`)
  const rows = rest.map((name) => {
    const bytes = readFileSync(join(DIST, name))
    return { name, gzip: gzipSync(bytes).length, br: brotliCompressSync(bytes).length }
  })
  const sum = rows
    .filter(({ name }) => first.includes(name))
    .reduce((all, { gzip, br }) => ({ gzip: all.gzip + gzip, br: all.br + br }), { gzip: 0, br: 0 })
  const largest = rows
    .filter(({ name }) => !first.includes(name))
    .toSorted((one, other) => other.gzip - one.gzip)
    .slice(0, 5)
  print(
    ['script and style', 'gzip', 'brotli'],
    [
      ['first load', String(sum.gzip), String(sum.br)],
      ...largest.map(({ name, gzip, br }) => [name, String(gzip), String(br)]),
    ],
  )
  if (sum.gzip > FIRST_LOAD_BYTES) faults.push(`the first load weighs ${sum.gzip} bytes`)
}

async function checkPages(): Promise<void> {
  await using simnet = await spawnSimnet({ seed: 1 })
  await using local = await startLocal(simnet.settings)
  const port = await freePort()
  await using window = await openWindow(local.url, { debugPort: port })
  const strangerPort = await freePort()
  await using stranger = await openWindow(local.url, { debugPort: strangerPort })
  const user = await signUp(local, window.context.request, { email: 'ada@people.test' })
  const batches = await fillAccount(user)
  const found: string[][] = []
  for (const [{ page }, pages] of [
    [stranger, SIGN_IN_PAGES],
    [window, pagesOf(batches)],
  ] as const) {
    for (const { path, heading } of pages) {
      await page.goto(path)
      await settle(page, heading)
      const violations = await faultsOfPage(page)
      found.push([path, String(violations.length)])
      faults.push(...violations.map((fault) => `${path} ${fault}`))
    }
  }
  faults.push(...window.faults, ...stranger.faults)
  print(['page', 'axe, two themes and widths'], found)
  // The sign-in page redirects users who are signed in, so it is measured without a session.
  await measure(local.url, { port, strangerPort }, batches.done)
  await using db = openDatabase({ url: local.ownerUrl, poolSize: 1, applicationName: 'web-check' })
  await addManyBatches(db, batches.done, user.accountId)
  await checkInteractions(window, batches.done)
}

async function checkInteractions({ page }: TestWindow, batchId: string): Promise<void> {
  const rows: string[][] = []
  for (const { name, worstMs } of await interactions(page, batchId)) {
    rows.push([name, `${worstMs} ms`])
    if (worstMs > INTERACTION_MS) faults.push(`${name}: ${worstMs} ms until the next paint`)
  }
  print(['with 10,000 batches', 'worst input to next paint'], rows)
}

async function measure(
  url: string,
  ports: { readonly port: number; readonly strangerPort: number },
  batchId: string,
): Promise<void> {
  const rows: string[][] = []
  for (const path of [
    '/app',
    '/app/batches/new',
    `/app/batches/${batchId}`,
    '/app/keys',
    '/app/sign-in',
  ]) {
    const port = path === '/app/sign-in' ? ports.strangerPort : ports.port
    const { categories, audits } = await measurePage(`${url}${path}`, port)
    const scores = Object.entries(LEAST).map(([name, least]) => {
      const score = Math.round((categories[name]?.score ?? 0) * 100)
      if (score < least) faults.push(`Lighthouse gives ${path} ${score} of ${least} for ${name}`)
      return String(score)
    })
    const metrics = Object.keys(METRICS).map((name) => audits[name]?.displayValue ?? '')
    rows.push([path, ...scores, ...metrics])
  }
  print(['page', ...Object.keys(LEAST), ...Object.values(METRICS)], rows)
}

/** Measures a page several times; returns the run with the median performance. */
async function measurePage(url: string, port: number): Promise<Result> {
  const runs: Result[] = []
  for (let run = 0; run < RUNS; run++) {
    const result = await lighthouse(url, {
      port,
      output: 'json',
      logLevel: 'error',
      onlyCategories: Object.keys(LEAST),
    })
    if (result !== undefined) runs.push(result.lhr)
  }
  const scoreOf = ({ categories }: Result): number => categories['performance']?.score ?? 0
  const middle = runs.toSorted((one, other) => scoreOf(one) - scoreOf(other))[runs.length >> 1]
  if (middle === undefined) throw new Error(`Lighthouse could not open ${url}`)
  return middle
}

function print(headings: readonly string[], rows: readonly (readonly string[])[]): void {
  process.stdout.write(`\n${table(headings, rows, { hasColors: false })}`)
}
