import { CronJob } from 'kubernetes-models/batch/v1/CronJob'
import { Job } from 'kubernetes-models/batch/v1/Job'
import { Deployment } from 'kubernetes-models/apps/v1/Deployment'
import type { IIoK8sApiCoreV1Container } from 'kubernetes-models/v1/Container'
import { INSTALLATION } from './installation.ts'
import { labelsOf, podOf, PORTS, type PodPlan } from './pod.ts'
import { API, DATA_UPDATE, MIGRATION, type Program } from './programs.ts'
import { scalingOf } from './scaling.ts'

const { namespace } = INSTALLATION

/** Seconds that a program may take after its delay and drain to close its resources. */
const CLOSING_SECONDS = 10

/** Seconds between the end of the closing time and the kill. */
const SPARE_SECONDS = 5

/** Seconds that a start may wait for an unreachable server or the migration, before probes count. */
const START_SECONDS = 300

/**
 * The deployment of a program: pods are replaced one by one, without reducing their number. Where
 * KEDA scales it, the number is left out: each time that the file is applied it would be set again.
 */
export function deploymentOf(program: Program, version: string): Deployment {
  const { name, pods } = program
  return new Deployment({
    metadata: { name, namespace, labels: labelsOf(name) },
    spec: {
      ...(scalingOf(program).length > 0 ? {} : { replicas: pods.least }),
      selector: { matchLabels: labelsOf(name) },
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      template: podOf(planOf(program, version)),
    },
  })
}

function planOf(program: Program, version: string): PodPlan {
  const { name, command, asksOutside, cpu, scratch, drainSeconds, stopDelaySeconds } = program
  const isApi = program === API
  return {
    name,
    version,
    command,
    asksOutside,
    cpu,
    scratch,
    settings: {
      // Without ADMIN_TOKEN, this address shows only metrics and probes without details.
      ADMIN_HOST: '0.0.0.0',
      [isApi ? 'ADMIN_PORT' : 'WORKER_ADMIN_PORT']: String(PORTS.admin),
      DRAIN_SECONDS: String(drainSeconds),
      ...(isApi
        ? {
            STOP_DELAY_SECONDS: String(stopDelaySeconds),
            HOST: '0.0.0.0',
            PORT: String(PORTS.http),
          }
        : {}),
    },
    graceSeconds: stopDelaySeconds + drainSeconds + CLOSING_SECONDS + SPARE_SECONDS,
    container: probesOf(isApi),
  }
}

/** The API is ready when it accepts calls, a worker when it reaches database and queue. */
function probesOf(isApi: boolean): Partial<IIoK8sApiCoreV1Container> {
  const lives = { httpGet: { path: '/livez', port: 'admin' }, timeoutSeconds: 5 }
  return {
    ports: [
      ...(isApi ? [{ name: 'http', containerPort: PORTS.http }] : []),
      { name: 'admin', containerPort: PORTS.admin },
    ],
    startupProbe: { ...lives, periodSeconds: 2, failureThreshold: START_SECONDS / 2 },
    livenessProbe: { ...lives, periodSeconds: 10, failureThreshold: 6 },
    readinessProbe: {
      httpGet: { path: '/readyz', port: isApi ? 'http' : 'admin' },
      periodSeconds: 5,
      timeoutSeconds: 5,
      failureThreshold: 2,
    },
  }
}

/** The job that migrates to this version; jobs are immutable, so the name contains the version. */
export function migrationOf(version: string): Job {
  const name = 'migrate'
  return new Job({
    metadata: {
      name: `${name}-${version.replaceAll('.', '-')}`,
      namespace,
      labels: labelsOf(name),
    },
    spec: {
      backoffLimit: 6,
      ttlSecondsAfterFinished: 86_400,
      template: podOf({
        ...SHORT,
        name,
        version,
        command: MIGRATION,
        asksOutside: false,
        isOwner: true,
        restartPolicy: 'OnFailure',
      }),
    },
  })
}

/** The job that fetches the reference lists each night; running workers reload them. */
export function dataUpdateOf(version: string): CronJob {
  const name = 'data-update'
  return new CronJob({
    metadata: { name, namespace, labels: labelsOf(name) },
    spec: {
      schedule: '17 3 * * *',
      concurrencyPolicy: 'Forbid',
      startingDeadlineSeconds: 3_600,
      jobTemplate: {
        spec: {
          // A list that could not be fetched stays as it was until the next night.
          backoffLimit: 1,
          activeDeadlineSeconds: 3_600,
          template: podOf({
            ...SHORT,
            name,
            version,
            command: DATA_UPDATE,
            asksOutside: true,
            writesLists: true,
            restartPolicy: 'Never',
          }),
        },
      },
    },
  })
}

/** Resources of jobs, whose pods end when their work is done. */
const SHORT = {
  settings: {},
  cpu: '100m',
  scratch: '1Gi',
  graceSeconds: CLOSING_SECONDS + SPARE_SECONDS,
} as const
