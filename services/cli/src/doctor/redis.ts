import type { RedisDurability } from '@plumbline/queue/redis-durability'
import { ok, trouble, type Finding } from './finding.ts'

const EVICTION_ADVICE =
  'Set maxmemory-policy to noeviction, and maxmemory so high that it does not become full.'
const FILE_ADVICE =
  'Set appendonly to yes, or use a plan of the provider that keeps data over a restart.'

/**
 * Whether a Redis, or each node of a cluster, keeps the jobs it was given, while its memory is full
 * and over a restart.
 */
export function redisFindings(nodes: readonly RedisDurability[]): readonly Finding[] {
  const policies = new Set(nodes.map(({ evictionPolicy }) => evictionPolicy))
  const files = new Set(nodes.map(({ isAppendOnly }) => isAppendOnly))
  return [evictionFinding([...policies]), fileFinding([...files])]
}

function evictionFinding(policies: readonly RedisDurability['evictionPolicy'][]): Finding {
  const name = 'redis eviction'
  const wrong = policies.filter((policy) => policy !== 'noeviction')
  if (wrong.length === 0) return ok(name, 'noeviction')
  const shown = wrong.flatMap((policy) => policy ?? [])
  if (shown.length === 0) {
    return trouble(name, 'off', 'not known: the server does not tell it', EVICTION_ADVICE)
  }
  // Those of the other kind remove facts and locks, which have a time, and no jobs.
  const isOfJobs = shown.some((policy) => !policy.startsWith('volatile-'))
  const lost = isOfJobs ? 'jobs are removed' : 'cached facts and locks are removed'
  const status = isOfJobs ? 'failed' : 'degraded'
  const detail = `${shown.join(', ')}: once its memory is full, ${lost}`
  return trouble(name, status, detail, EVICTION_ADVICE)
}

function fileFinding(files: readonly RedisDurability['isAppendOnly'][]): Finding {
  const name = 'redis file'
  if (files.includes(false)) {
    const detail = 'not append-only: a restart loses jobs and cached facts, and calls under way'
    return trouble(name, 'degraded', detail, FILE_ADVICE)
  }
  if (files.includes(null)) {
    return trouble(name, 'off', 'not known: the server does not tell it', FILE_ADVICE)
  }
  return ok(name, 'append-only')
}
