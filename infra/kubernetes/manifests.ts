import { ConfigMap } from 'kubernetes-models/v1/ConfigMap'
import { Namespace } from 'kubernetes-models/v1/Namespace'
import { PersistentVolumeClaim } from 'kubernetes-models/v1/PersistentVolumeClaim'
import { Service } from 'kubernetes-models/v1/Service'
import { ServiceAccount } from 'kubernetes-models/v1/ServiceAccount'
import { CONTAINER_FLAGS, MEMORY_ENVIRONMENT } from '@plumbline/local/children'
import { stringify } from 'yaml'
import { INSTALLATION } from './installation.ts'
import { networkPolicies } from './network.ts'
import { labelsOf, NAMES } from './pod.ts'
import { API, PROGRAMS } from './programs.ts'
import { disruptionBudgetOf, scalingOf } from './scaling.ts'
import { dataUpdateOf, deploymentOf, migrationOf } from './workloads.ts'

const { namespace, settings, listsStorageClass } = INSTALLATION

/** An object of Kubernetes, or of KEDA. */
interface Manifest {
  /** @throws if the object is not valid for its kind */
  validate(): void
  toJSON(): unknown
}

/** All objects of a cluster for this version except its secrets, in the order of creation. */
function manifestsOf(version: string): readonly Manifest[] {
  return [
    new Namespace({
      metadata: {
        name: namespace,
        labels: { 'pod-security.kubernetes.io/enforce': 'restricted' },
      },
    }),
    new ServiceAccount({ metadata: { name: NAMES.account, namespace } }),
    new ConfigMap({
      metadata: { name: NAMES.settings, namespace },
      data: {
        ...settings,
        DATA_DIR: '/data',
        LISTS_DIR: '/lists',
        // Only the CronJob updates the reference lists; other pods may not write them.
        DATA_UPDATE: 'off',
        NODE_OPTIONS: CONTAINER_FLAGS.join(' '),
        ...MEMORY_ENVIRONMENT,
      },
    }),
    new PersistentVolumeClaim({
      metadata: { name: NAMES.lists, namespace },
      spec: {
        accessModes: ['ReadWriteMany'],
        resources: { requests: { storage: '2Gi' } },
        ...(listsStorageClass === undefined ? {} : { storageClassName: listsStorageClass }),
      },
    }),
    ...networkPolicies(),
    migrationOf(version),
    dataUpdateOf(version),
    new Service({
      metadata: { name: API.name, namespace, labels: labelsOf(API.name) },
      spec: {
        selector: labelsOf(API.name),
        ports: [{ name: 'http', port: 80, targetPort: 'http' }],
      },
    }),
    ...PROGRAMS.flatMap((program) => [
      deploymentOf(program, version),
      disruptionBudgetOf(program),
      ...scalingOf(program),
    ]),
  ]
}

/**
 * The manifests as one file of YAML.
 * @throws Error if one of them is not valid for its kind
 */
export function manifestText(version: string): string {
  const documents = manifestsOf(version).map((manifest) => {
    manifest.validate()
    // A reader may use YAML 1.1, in which an unquoted `off` is a boolean.
    return stringify(manifest.toJSON(), {
      lineWidth: 0,
      aliasDuplicateObjects: false,
      compat: 'yaml-1.1',
    })
  })
  return `${HEAD}${documents.join('---\n')}`
}

const HEAD = `# Made by "npm run kubernetes" from infra/kubernetes/*.ts; what differs by cluster: installation.ts there.
# How to use it: docs/operating.md.
`
