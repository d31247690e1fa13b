import { countOpenChunks, readBacklog, type Backlog } from '@plumbline/db/batches/backlog'
import { readRepairs } from '@plumbline/db/batches/reconcile'
import { countBuyers, readSpending } from '@plumbline/db/budget'
import { readOpenRemovals } from '@plumbline/db/file-store'
import { readWorkers, WORKER_KINDS } from '@plumbline/db/workers'
import { INVITATION_BUDGETS } from '@plumbline/people/membership'
import { FACTOR_BUDGETS } from '@plumbline/people/factor-check'
import { SIGN_UP_BUDGETS } from '@plumbline/people/sign-up'
import { ACCOUNT_BUDGETS, readProviderStatus } from '@plumbline/ports/provider-status'
import { readLastAudit } from '@plumbline/metering/audit-run'
import { depth } from '@plumbline/queue/jobs'
import { QUEUE_NAMES } from '@plumbline/queue/names'
import { readUsedShare } from '@plumbline/queue/redis-used-memory'
import { observeStores } from '@plumbline/storage/observe-disks'
import type { AdminProgram } from '@plumbline/runtime/admin-server'
import { KEY_BUDGETS } from './app-api/account-handlers.ts'
import type { Context } from './context.ts'
import { BATCH_MAIL_BUDGETS, WEBHOOK_MAIL_BUDGETS } from './notifications.ts'
import { operatorPages } from './operator/operator-pages.ts'
import { checkReadiness } from './readiness.ts'
import { kindsAway } from './start-up.ts'

/** Responses of the API on the admin port: its metrics, and readiness with details. */
export function adminProgram(ctx: Context): AdminProgram {
  const pages = operatorPages(ctx)
  observeQueues(ctx)
  observeBacklog(ctx)
  observeProviders(ctx)
  observeAccountCaps(ctx)
  observeWorkers(ctx)
  observeFiles(ctx)
  observeLedger(ctx)
  observeStores(ctx.metrics, ctx.settings)
  return {
    registry: ctx.metrics.registry,
    onError: ctx.onError,
    readiness: async () => {
      const checks = await checkReadiness(ctx)
      const isDown = checks.some(({ name, ok }) => name === 'database' && !ok)
      const workers = isDown ? null : await readWorkers(ctx.db).catch(() => null)
      const away = workers === null ? [] : kindsAway(workers)
      const detail = { checks, away, workers: workers ?? [] }
      return { ready: checks.every(({ ok }) => ok), detail }
    },
    more: async (req, res) => {
      if (!/^\/operator(?:[/?]|$)/.test(req.url ?? '')) return false
      pages(req, res)
      return true
    },
  }
}

function observeQueues(ctx: Context): void {
  ctx.metrics.observed('queue_jobs', 'Jobs in the queues.', ['queue', 'state'], async () => {
    const depths = await Promise.all(
      QUEUE_NAMES.map(async (queue) => ({ queue, ...(await depth(ctx.pipeline.queue, queue)) })),
    )
    return depths.flatMap(({ queue, waiting, active }) => [
      { labels: { queue, state: 'waiting' }, value: waiting },
      { labels: { queue, state: 'active' }, value: active },
    ])
  })
  ctx.metrics.observed(
    'redis_memory_used_ratio',
    'Share of its memory that Redis uses, in a cluster that of the fullest node; without Redis, or a limit, it has no value.',
    [],
    async () => {
      const { redis } = ctx.pipeline.queue
      const value = redis === null ? null : await readUsedShare(redis)
      return value === null ? [] : [{ labels: {}, value }]
    },
  )
  ctx.metrics.observed(
    'reconciler_healed',
    'Repairs of inconsistent state, ever; each should have an explanation.',
    ['kind'],
    async () =>
      (await readRepairs(ctx.db)).map(({ kind, count }) => ({ labels: { kind }, value: count })),
  )
}

/** Metrics by which KEDA scales workers, and the age of the backlog. */
function observeBacklog(ctx: Context): void {
  const read = sharedRead(() => readBacklog(ctx.db))
  const byCheck = (name: string, help: string, valueOf: (backlog: Backlog) => number): void => {
    ctx.metrics.observed(name, help, ['check'], async () =>
      (await read()).map((backlog) => ({
        labels: { check: backlog.check },
        value: valueOf(backlog),
      })),
    )
  }
  byCheck(
    'batch_claimable_tasks',
    'Tasks of running batches that a worker could begin now.',
    ({ claimable }) => claimable,
  )
  byCheck(
    'batch_waiting_tasks',
    'Tasks that wait for a moment or for room at a provider: more workers would not help.',
    ({ waiting }) => waiting,
  )
  byCheck(
    'batch_backlog_age_seconds',
    'Time since the oldest batch that has claimable tasks began to run.',
    ({ ageSeconds }) => ageSeconds,
  )
  ctx.metrics.observed(
    'batch_open_chunks',
    'Chunks of running batches with tasks that are in work or could be.',
    [],
    async () => [{ labels: {}, value: await countOpenChunks(ctx.db) }],
  )
}

/** Gauges that are read at the same moment share a query. */
function sharedRead<T>(read: () => Promise<T>): () => Promise<T> {
  let reading: Promise<T> | undefined
  return () => {
    reading ??= read().finally(() => {
      reading = undefined
    })
    return reading
  }
}

function observeProviders(ctx: Context): void {
  ctx.metrics.observed(
    'hlr_provider_paused',
    'Whether an HLR provider is paused: out of credit, or keys refused.',
    ['provider'],
    async () => {
      const statuses = await readProviderStatus(ctx.memory)
      return statuses.map(({ provider, paused }) => ({
        labels: { provider },
        value: paused === null ? 0 : 1,
      }))
    },
  )
  ctx.metrics.observed(
    'budget_spent_today',
    'What was spent of each capped budget on this UTC day.',
    ['budget'],
    async () => {
      const spending = await readSpending(ctx.db, [
        ACCOUNT_BUDGETS,
        SIGN_UP_BUDGETS,
        FACTOR_BUDGETS,
        INVITATION_BUDGETS,
        KEY_BUDGETS,
        BATCH_MAIL_BUDGETS,
        WEBHOOK_MAIL_BUDGETS,
      ])
      return [...spending].map(([budget, value]) => ({ labels: { budget }, value }))
    },
  )
}

function observeFiles(ctx: Context): void {
  ctx.metrics.observed(
    'file_removals_open',
    'Removals that the store has not confirmed.',
    [],
    async () => [{ labels: {}, value: (await readOpenRemovals(ctx.db)).count }],
  )
  ctx.metrics.observed(
    'file_removals_oldest_seconds',
    'Age of the oldest of them.',
    [],
    async () => [{ labels: {}, value: (await readOpenRemovals(ctx.db)).oldestSeconds }],
  )
}

function observeAccountCaps(ctx: Context): void {
  ctx.metrics.observed(
    'hlr_accounts_today',
    'Accounts for which numbers were bought on this UTC day, and those of them at their cap.',
    ['state'],
    async () => {
      const most = ctx.settings.HLR_ACCOUNT_DAILY_CAP
      const { buying, capped } = await countBuyers(ctx.db, ACCOUNT_BUDGETS, most)
      return [
        { labels: { state: 'buying' }, value: buying },
        { labels: { state: 'capped' }, value: capped },
      ]
    },
  )
}

function observeWorkers(ctx: Context): void {
  ctx.metrics.observed('workers', 'Worker processes that live.', ['kind'], async () => {
    const counts = new Map(WORKER_KINDS.map((kind) => [kind, 0]))
    for (const { kind } of await readWorkers(ctx.db)) counts.set(kind, (counts.get(kind) ?? 0) + 1)
    return [...counts].map(([kind, value]) => ({ labels: { kind }, value }))
  })
  ctx.metrics.observed(
    'worker_health',
    'Dependencies of workers: 1 works, 0.5 degraded, 0 failed; what is off is left out.',
    ['worker', 'kind', 'name'],
    async () => {
      const workers = await readWorkers(ctx.db)
      return workers.flatMap(({ name: worker, kind, health }) =>
        health.flatMap(({ name, status }) => {
          if (status === 'off') return []
          return { labels: { worker, kind, name }, value: HEALTH_VALUES[status] }
        }),
      )
    },
  )
}

function observeLedger(ctx: Context): void {
  ctx.metrics.observed(
    'ledger_audit_faults',
    'Faults that the last audit of the ledger found; it has no value before the first has ended.',
    [],
    async () => {
      const last = await readLastAudit(ctx.db)
      return last === undefined ? [] : [{ labels: {}, value: last.faultCount }]
    },
  )
  ctx.metrics.observed(
    'ledger_audit_age_seconds',
    'Time since the last audit of the ledger ended, and since the last from its first entry on.',
    ['audit'],
    async () => {
      const last = await readLastAudit(ctx.db)
      if (last === undefined) return []
      const { ageSeconds, wholeAgeSeconds } = last
      const whole = { labels: { audit: 'whole' }, value: wholeAgeSeconds ?? Infinity }
      return [{ labels: { audit: 'last' }, value: ageSeconds }, whole]
    },
  )
}

const HEALTH_VALUES = { ok: 1, degraded: 0.5, failed: 0 } as const
