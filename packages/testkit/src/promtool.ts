import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'

/** Whether promtool is missing; with CI=true the tests that need it fail. */
export const WITHOUT_PROMTOOL =
  process.env['CI'] !== 'true' && spawnSync('promtool', ['--version']).status !== 0

const FILES = new URL('../../../infra/', import.meta.url)

/** File of the alert rules. */
export const ALERTS = new URL('prometheus/alerts.yml', FILES)
export const ALERT_TESTS = new URL('prometheus/alerts.test.yml', FILES)
export const DASHBOARD = new URL('grafana/plumbline.json', FILES)

/** PromQL queries by the name of the alert or panel. */
export type Queries = ReadonlyMap<string, string>

/** The queries of the alert rules. */
export function alertQueries(): Queries {
  // Safe because promtool has checked the file's form.
  const { groups } = parse(readFileSync(ALERTS, 'utf8')) as {
    groups: readonly { rules: readonly { alert: string; expr: string }[] }[]
  }
  return new Map(groups.flatMap(({ rules }) => rules.map(({ alert, expr }) => [alert, expr])))
}

/** The queries of the dashboard's panels, with Grafana's time variables replaced. */
export function dashboardQueries(): Queries {
  // Safe because it is a dashboard of Grafana's, whose panels without targets are rows.
  const { panels } = JSON.parse(readFileSync(DASHBOARD, 'utf8')) as {
    panels: readonly { title: string; targets?: readonly { refId: string; expr: string }[] }[]
  }
  return new Map(
    panels.flatMap(({ title, targets = [] }) =>
      targets.map(({ refId, expr }) => [
        `${title} ${refId}`,
        expr.replaceAll('$__rate_interval', '5m'),
      ]),
    ),
  )
}

/** Keywords of PromQL that may occur where a metric name does. */
const WORDS = new Set(['and', 'or', 'unless', 'on', 'ignoring', 'bool', 'offset'])

/** Names of the metrics that a query reads. */
export function metricsIn(query: string): ReadonlySet<string> {
  const bare = query
    .replaceAll(/"(?:[^"\\]|\\.)*"/g, '')
    .replaceAll(/\{[^}]*\}|\[[^\]]*\]/g, '')
    .replaceAll(/\b(?:by|without|on|ignoring)\s*\([^)]*\)/g, '')
  const names = [...bare.matchAll(/[a-z_:][\w:]*(?!\w)(?!\s*\()/gi)].map(([name]) => name)
  return new Set(names.filter((name) => !WORDS.has(name)))
}

/** Names of the series on a page of metrics, those of histograms with their suffixes. */
export function seriesOf(page: string): ReadonlySet<string> {
  const types = [...page.matchAll(/^# TYPE (\S+) (\S+)$/gm)]
  return new Set(
    types.flatMap(([, name = '', type]) =>
      type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
    ),
  )
}
