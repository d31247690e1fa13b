import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { REASONS } from '@plumbline/contract/reasons'
import {
  ALERT_TESTS,
  alertQueries,
  ALERTS,
  dashboardQueries,
  metricsIn,
  WITHOUT_PROMTOOL,
} from '@plumbline/testkit/promtool'
import { parse, stringify } from 'yaml'
import { describe, expect, test } from 'vitest'
import { readSource, sourceFiles } from './import-graph.ts'
import { PROGRAMS } from './kubernetes/programs.ts'
import { ROOT } from './run.ts'

// promtool is in Debian's package `prometheus`; CI installs it, and fails if it is missing.
describe.skipIf(WITHOUT_PROMTOOL)('promtool', () => {
  test('accepts the alert rules', () => {
    expect(promtool('check', 'rules', '--lint-fatal', fileURLToPath(ALERTS))).toBe('')
  })

  test('fires each alert when its condition holds, and only then', () => {
    expect(promtool('test', 'rules', fileURLToPath(ALERT_TESTS))).toBe('')
  })

  test('accepts every query of the dashboard', () => {
    const rules = [...dashboardQueries().values()].map((expr, at) => ({ record: `q:${at}`, expr }))
    expect(rules.length).toBeGreaterThan(30)
    const folder = mkdtempSync(join(tmpdir(), 'promtool-'))
    try {
      const file = join(folder, 'queries.yml')
      writeFileSync(file, stringify({ groups: [{ name: 'dashboard', rules }] }))
      expect(promtool('check', 'rules', file)).toBe('')
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})

test('queries name only known reasons of outcomes', () => {
  const known = new Set(Object.values(REASONS).flatMap((reasons) => Object.keys(reasons)))
  const queries = [...alertQueries().values(), ...dashboardQueries().values()]
  const named = queries.flatMap((query) =>
    [...query.matchAll(/reason=~"([^"]*)"/g)].flatMap(([, words = '']) => words.split('|')),
  )
  expect(named.length).toBeGreaterThan(0)
  expect(named.filter((reason) => !known.has(reason))).toEqual([])
})

test('the example of docs/observability.md scrapes every program, as the alerts require', () => {
  const page = readFileSync(join(ROOT, 'docs/observability.md'), 'utf8')
  const [, example = ''] = /```yaml\n(.*?)```/s.exec(page) ?? []
  // Safe because a page without this member fails the test.
  const { scrape_configs: jobs } = parse(example) as {
    scrape_configs: readonly { static_configs: readonly { targets: readonly string[] }[] }[]
  }
  const scraped = jobs
    .flatMap(({ static_configs: configs }) => configs.flatMap(({ targets }) => targets))
    .map((target) => target.replace(/:\d+$/, ''))
  expect(scraped.toSorted()).toEqual(PROGRAMS.map(({ name }) => name).toSorted())
})

test('docs/observability.md lists every metric of the sources, and no other', () => {
  const page = readFileSync(join(ROOT, 'docs/observability.md'), 'utf8')
  const [, section = ''] = /^## Metrics\n(.*?)^## /ms.exec(page) ?? []
  const rows = section.split('\n').map((line) => /^\| (`[^|]+`) \|/.exec(line)?.[1] ?? '')
  const listed = rows.flatMap((cell) => [...cell.matchAll(/`([a-z_]+)/g)].map(([, name]) => name))
  const made = sourceFiles()
    .filter((file) => /^(?:packages|services)\//.test(file) && !file.endsWith('.test.ts'))
    .flatMap((file) => [...readSource(file).matchAll(METRIC)].map(([, name]) => name))
  expect(listed.toSorted()).toEqual([...new Set(made)].toSorted())
})

test('the names of metrics in a query are found, and nothing else is', () => {
  const query = `sum by (check, provider) (rate(outcomes_total{reason=~"blocked|x"}[30m]))
    / on (check) group_left sum by (check) (a_seconds_bucket) > 0.25 and max without (b) (c) unless d`
  expect([...metricsIn(query.replace('group_left ', ''))]).toEqual([
    'outcomes_total',
    'a_seconds_bucket',
    'c',
    'd',
  ])
})

/** Where a source makes a metric: its name is the first argument, and its description the second. */
const METRIC =
  /\b(?:counter|histogram|observed|observe|gauge|byCheck)\(\s*'([a-z]+(?:_[a-z]+)*)',\s*'/g

/** The error output of promtool; empty if there is no error. */
function promtool(...args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync('promtool', args, { encoding: 'utf8' })
  if (error !== undefined) return error.message
  return status === 0 ? '' : `${stdout}${stderr}`
}
