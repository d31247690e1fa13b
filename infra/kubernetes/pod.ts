import type { IIoK8sApiCoreV1Container } from 'kubernetes-models/v1/Container'
import type { IIoK8sApiCoreV1PodTemplateSpec } from 'kubernetes-models/v1/PodTemplateSpec'
import { INSTALLATION } from './installation.ts'

/** Port of the API, and port of metrics and probes. */
export const PORTS = { http: 8080, admin: 9090 } as const

/** Names of objects that are not generated: secrets hold a file for each secret setting. */
export const NAMES = {
  settings: 'plumbline-settings',
  /** Secrets of every program: URLs of the stores and the installation's key. */
  secrets: 'plumbline-secrets',
  /** URL of the database with the owner of its tables, for the migration only. */
  ownerSecrets: 'plumbline-owner',
  account: 'plumbline',
  lists: 'plumbline-lists',
} as const

/** Folders in which the two secrets are mounted. */
const SECRETS_DIR = '/run/secrets/plumbline'
const OWNER_DIR = '/run/secrets/owner'

/** Labels that select the pods of a program. */
export const labelsOf = (name: string): Record<string, string> => ({
  'app.kubernetes.io/name': name,
  'app.kubernetes.io/part-of': 'plumbline',
})

/** Label of pods that may connect to the internet. */
export const OUTSIDE = { 'plumbline/asks-outside': 'true' }

/** The user `node` of the image. */
const USER = 1000

/** The properties by which pods differ. */
export interface PodPlan {
  readonly name: string
  readonly version: string
  readonly command: readonly string[]
  readonly asksOutside: boolean
  readonly settings: Readonly<Record<string, string>>
  readonly cpu: string
  readonly scratch: string
  readonly graceSeconds: number
  readonly isOwner?: boolean
  readonly writesLists?: boolean
  readonly restartPolicy?: 'Never' | 'OnFailure'
  readonly container?: Partial<IIoK8sApiCoreV1Container>
}

/** A pod: no privileges, a read-only image, secrets in files. */
export function podOf(plan: PodPlan): IIoK8sApiCoreV1PodTemplateSpec {
  return {
    metadata: {
      labels: { ...labelsOf(plan.name), ...(plan.asksOutside ? OUTSIDE : {}) },
      annotations: scrapedAt(plan),
    },
    spec: {
      serviceAccountName: NAMES.account,
      automountServiceAccountToken: false,
      // Otherwise each service of the namespace adds variables that no setting uses.
      enableServiceLinks: false,
      ...(plan.restartPolicy === undefined ? {} : { restartPolicy: plan.restartPolicy }),
      terminationGracePeriodSeconds: plan.graceSeconds,
      securityContext: {
        runAsNonRoot: true,
        runAsUser: USER,
        runAsGroup: USER,
        fsGroup: USER,
        seccompProfile: { type: 'RuntimeDefault' },
      },
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: 'kubernetes.io/hostname',
          whenUnsatisfiable: 'ScheduleAnyway',
          labelSelector: { matchLabels: labelsOf(plan.name) },
        },
      ],
      containers: [containerOf(plan)],
      volumes: [
        { name: 'data', emptyDir: { sizeLimit: plan.scratch } },
        { name: 'tmp', emptyDir: { sizeLimit: '256Mi' } },
        { name: 'lists', persistentVolumeClaim: { claimName: NAMES.lists } },
        secretVolume('secrets', NAMES.secrets),
        ...(plan.isOwner === true ? [secretVolume('owner', NAMES.ownerSecrets)] : []),
      ],
    },
  }
}

function containerOf(plan: PodPlan): IIoK8sApiCoreV1Container {
  return {
    name: plan.name,
    image: `${INSTALLATION.image}:${plan.version}`,
    command: [...plan.command],
    envFrom: [{ configMapRef: { name: NAMES.settings } }],
    env: Object.entries({ ...secretFiles(plan), ...plan.settings }).map(([name, value]) => ({
      name,
      value,
    })),
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
    // Node's heap is limited to less than this (NODE_OPTIONS). There is no processor limit: it would
    // only delay work.
    resources: {
      requests: { cpu: plan.cpu, memory: '512Mi' },
      limits: { memory: '1Gi' },
    },
    volumeMounts: [
      { name: 'data', mountPath: '/data' },
      { name: 'tmp', mountPath: '/tmp' },
      { name: 'lists', mountPath: '/lists', readOnly: plan.writesLists !== true },
      { name: 'secrets', mountPath: SECRETS_DIR, readOnly: true },
      ...(plan.isOwner === true ? [{ name: 'owner', mountPath: OWNER_DIR, readOnly: true }] : []),
    ],
    ...plan.container,
  }
}

/** Settings that are read from the files of the secrets. */
function secretFiles({ isOwner }: PodPlan): Readonly<Record<string, string>> {
  return {
    DATABASE_URL_FILE: `${SECRETS_DIR}/database-url`,
    REDIS_URL_FILE: `${SECRETS_DIR}/redis-url`,
    INSTALLATION_KEY_FILE: `${SECRETS_DIR}/installation-key`,
    ...(isOwner === true ? { MIGRATE_DATABASE_URL_FILE: `${OWNER_DIR}/database-url` } : {}),
  }
}

function secretVolume(
  name: string,
  secretName: string,
): { name: string; secret: { secretName: string; defaultMode: number } } {
  return { name, secret: { secretName, defaultMode: 0o440 } }
}

/** Annotations for a Prometheus that discovers targets by them; jobs have none. */
function scrapedAt({ container }: PodPlan): Record<string, string> {
  if (container?.ports === undefined) return {}
  return {
    'prometheus.io/scrape': 'true',
    'prometheus.io/port': String(PORTS.admin),
    'prometheus.io/path': '/metrics',
  }
}
