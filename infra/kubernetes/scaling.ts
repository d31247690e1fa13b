import { ScaledObject } from '@kubernetes-models/keda/keda.sh/v1alpha1/ScaledObject'
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget'
import { INSTALLATION } from './installation.ts'
import { labelsOf } from './pod.ts'
import type { Program } from './programs.ts'

const { namespace, prometheus } = INSTALLATION

/**
 * Tasks that one worker of a check runs concurrently: as many claimable ones justify one more
 * worker. Source: `BULK_TASKS`.
 */
const TASKS_A_WORKER: Readonly<Record<string, number>> = { email: 16, phone: 16, ip: 8, domain: 64 }

/** Age of the backlog per worker, in seconds, that justifies one more. */
const BACKLOG_SECONDS_A_WORKER = 900

/**
 * Seconds for which fewer workers must suffice before their number is reduced: the chunks of a stopped
 * worker are returned, and then start again.
 */
const CALM_SECONDS = 600

const API_CPU_PERCENT = 70

/** One pod at a time may be evicted, for example to drain a machine. */
export function disruptionBudgetOf({ name }: Program): PodDisruptionBudget {
  return new PodDisruptionBudget({
    metadata: { name, namespace, labels: labelsOf(name) },
    spec: { maxUnavailable: 1, selector: { matchLabels: labelsOf(name) } },
  })
}

/**
 * Number of pods: workers of a check by the claimable backlog and its age, not counting tasks that wait
 * for an outside system; the API by its processor usage. Programs with a fixed number have none.
 */
export function scalingOf(program: Program): readonly ScaledObject[] {
  const { name, pods, check } = program
  if (pods.least === pods.most) return []
  return [
    new ScaledObject({
      metadata: { name, namespace, labels: labelsOf(name) },
      spec: {
        scaleTargetRef: { name },
        minReplicaCount: pods.least,
        maxReplicaCount: pods.most,
        advanced: {
          horizontalPodAutoscalerConfig: {
            behavior: { scaleDown: { stabilizationWindowSeconds: CALM_SECONDS } },
          },
        },
        ...(check === undefined
          ? { triggers: [byProcessor()] }
          : {
              triggers: backlogTriggers(check),
              // If Prometheus cannot be reached, the number stays as it is.
              fallback: { failureThreshold: 5, replicas: pods.least, behavior: 'currentReplicas' },
            }),
      },
    }),
  ]
}

interface Trigger {
  readonly type: string
  readonly metricType: 'AverageValue' | 'Utilization'
  readonly metadata: Record<string, string>
}

function byProcessor(): Trigger {
  return { type: 'cpu', metricType: 'Utilization', metadata: { value: String(API_CPU_PERCENT) } }
}

/** Every API reports the same numbers from the database, so the highest is the total. */
function backlogTriggers(check: string): Trigger[] {
  const highest = (metric: string): string => `max(${metric}{check="${check}"})`
  const trigger = (query: string, threshold: number): Trigger => ({
    type: 'prometheus',
    metricType: 'AverageValue',
    metadata: {
      serverAddress: prometheus,
      query,
      threshold: String(threshold),
    },
  })
  const claimable = highest('batch_claimable_tasks')
  const age = highest('batch_backlog_age_seconds')
  // However old the backlog, no more workers than there are tasks for them.
  const cappedAge = `clamp_max(${age}, ${BACKLOG_SECONDS_A_WORKER} * scalar(${claimable}))`
  return [
    trigger(claimable, TASKS_A_WORKER[check] ?? 16),
    trigger(cappedAge, BACKLOG_SECONDS_A_WORKER),
  ]
}
