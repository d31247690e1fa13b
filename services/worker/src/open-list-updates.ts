import { randomUUID } from 'node:crypto'
import { getServers } from 'node:dns'
import { resolve } from 'node:path'
import { updateAllInWorker } from '@plumbline/datasets/update-in-worker'
import type { WorkerContext } from './context.ts'
import { createListUpdates, type ListUpdates } from './list-updates.ts'
import { updatedListsDir } from './settings.ts'

/**
 * The daily updates of this process according to its settings, with their metrics; nothing is
 * fetched yet.
 */
export function openListUpdates({
  connections,
  log,
  metrics,
  settings,
}: WorkerContext): ListUpdates {
  const dir = resolve(updatedListsDir(settings))
  const order = {
    dir,
    egressAllow: settings.EGRESS_ALLOW,
    dnsServers: settings.DNS_SERVERS ?? getServers(),
    rdapUrl: settings.RDAP_BOOTSTRAP_URL,
    cityDb: settings.IP_CITY_DB,
    asnDb: settings.IP_ASN_DB,
  }
  const updates = createListUpdates({
    db: connections.db,
    dir,
    mode: settings.DATA_UPDATE,
    holder: randomUUID(),
    log,
    update: (signal) => updateAllInWorker(order, log, signal),
  })
  metrics.observed(
    'list_update_age_seconds',
    'Time since the last update of the reference lists began, and since the last to which every source came ended.',
    ['update'],
    async () => {
      const last = await updates.last()
      if (last === null) return []
      return [
        { labels: { update: 'last' }, value: secondsSince(last.startedAt) },
        {
          labels: { update: 'whole' },
          value: last.wholeAt === null ? Infinity : secondsSince(last.wholeAt),
        },
      ]
    },
  )
  metrics.observed(
    'list_update_missing_sources',
    'Sources of reference lists that did not come with the last update; what was there before stays in use.',
    [],
    async () => {
      const last = await updates.last()
      if (last === null || last.endedAt === null) return []
      return [{ labels: {}, value: last.missing.length }]
    },
  )
  return updates
}

function secondsSince(time: string): number {
  return Math.max(0, (Date.now() - Date.parse(time)) / 1_000)
}
