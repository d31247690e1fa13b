import { openDatabase } from '@plumbline/db/database'
import {
  GONE_MS,
  readWorkers,
  WORKER_KINDS,
  type SeenWorker,
  type WorkerKind,
} from '@plumbline/db/workers'
import type { ServiceLocation } from '../service.ts'
import { attempt, ok, trouble, type Finding } from './finding.ts'

/** The live workers of the service, and the problems that they report. */
export async function examineWorkers({
  databaseUrl,
}: ServiceLocation): Promise<readonly Finding[]> {
  if (databaseUrl === null) return []
  return await attempt('workers', 'Check DATABASE_URL and that Postgres runs.', async () => {
    await using db = openDatabase({ url: databaseUrl, poolSize: 1, applicationName: 'doctor' })
    const workers = await readWorkers(db)
    return WORKER_KINDS.flatMap((kind) => findingsOf(kind, workers))
  })
}

function findingsOf(kind: WorkerKind, workers: readonly SeenWorker[]): readonly Finding[] {
  const living = workers.filter((worker) => worker.kind === kind)
  if (living.length === 0) {
    const advice = `Start one: node services/worker/src/main.ts ${kind}`
    return [
      trouble(
        `worker ${kind}`,
        'failed',
        `none has reported for ${GONE_MS / 1000} seconds`,
        advice,
      ),
    ]
  }
  const troubles = living.flatMap(({ name, health }) =>
    health.flatMap((row): Finding[] => {
      if (row.status === 'ok' || row.status === 'off') return []
      // A pause is all workers' at once, and has a line of its own.
      if (kind === 'phone' && row.name.startsWith('hlr ')) return []
      const advice = 'Seen by that worker; see the lines of the same name, and its log.'
      return [{ ...row, name: `worker ${kind} ${name}: ${row.name}`, advice }]
    }),
  )
  return [ok(`worker ${kind}`, `${living.length} at work`), ...troubles]
}
