import { auditLedger } from '@plumbline/testkit/audit-ledger'
import { submitBatch, untilBatch } from '@plumbline/testkit/batches'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { alertQueries, dashboardQueries, metricsIn, seriesOf } from '@plumbline/testkit/promtool'
import { startService, type TestService } from '@plumbline/testkit/service'
import { expect, test } from 'vitest'
import { startSimnet } from '../simnet/simnet.ts'

test('alerts and dashboard use metrics and labels that the processes export', async () => {
  await using simnet = await startSimnet({})
  await using database = await createTestDatabase()
  await using service = await startService({
    databaseUrl: database.url,
    engines: 'real',
    workers: [['email', 'phone', 'ip', 'domain', 'batch']],
    env: { ...simnet.settings, WORKER_ADMIN_PORT: '0' },
  })
  await leaveTraces(service)
  const queries = [...alertQueries(), ...dashboardQueries()]
  const told = seriesOf(await readMetrics(service))
  const unknown = queries.flatMap(([name, query]) =>
    [...metricsIn(query)]
      .filter((metric) => !told.has(metric))
      .map((metric) => `${name}: ${metric}`),
  )
  expect(unknown).toEqual([])

  const selectors = queries.flatMap(([, query]) => selectorsIn(query))
  expect(selectors.length).toBeGreaterThan(5)
  // Counted after the response has been sent; the client may have received it before.
  await expect
    .poll(async () => {
      const lines = (await readMetrics(service)).split('\n')
      return selectors.filter((selector) => !lines.some((line) => isOf(line, selector)))
    })
    .toEqual([])
})

/** Makes a call, a completed and a canceled batch, and an audit, so that all metrics have values. */
async function leaveTraces(service: TestService): Promise<void> {
  expect(await auditLedger(service.db)).toEqual([])
  const account = await service.account({ credits: 100 })
  const caller = { service, account, key: account.liveKey }
  const ip = '203.0.113.7'
  expect((await service.call(account.liveKey, 'POST', '/v1/ip', { ip })).status).toBe(200)
  const ran = await submitBatch(caller, { product: 'ip', records: [{ ip }] })
  await untilBatch(caller, ran.id)
  const kept = await submitBatch(caller, { product: 'ip', records: [{ ip }], start: false })
  await untilBatch(caller, kept.id)
  const path = `/v1/batches/${kept.id}/cancel`
  expect((await service.call(account.liveKey, 'POST', path)).status).toBe(200)
}

async function readMetrics({ adminUrl, workers }: TestService): Promise<string> {
  const urls = [adminUrl, ...workers.map((worker) => worker.adminUrl)]
  const pages = urls.map(async (url) => await (await fetch(new URL('/metrics', url))).text())
  return (await Promise.all(pages)).join('\n')
}

/** A metric with the exact labels that a query requires. */
interface Selector {
  readonly name: string
  readonly labels: readonly string[]
}

function selectorsIn(query: string): readonly Selector[] {
  return [...query.matchAll(/([a-z_]+)\{([^}]*)\}/g)].map(([, name = '', inside = '']) => ({
    name,
    labels: inside.match(/\w+="[^"]*"/g) ?? [],
  }))
}

function isOf(line: string, { name, labels }: Selector): boolean {
  return line.startsWith(`${name}{`) && labels.every((label) => line.includes(label))
}
