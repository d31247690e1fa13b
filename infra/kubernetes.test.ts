import { existsSync, readFileSync } from 'node:fs'
import { BlockList } from 'node:net'
import { join } from 'node:path'
import { apiSettings } from '@plumbline/api/settings'
import { fileVariable, isSecret } from '@plumbline/runtime/secret-files'
import { workerSettings } from '@plumbline/worker/settings'
import { describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { manifestText } from './kubernetes/manifests.ts'
import { API, PROGRAMS } from './kubernetes/programs.ts'
import { PLATFORM_VARIABLES } from './platform-variables.ts'
import { ROOT } from './run.ts'

const FILE = 'infra/kubernetes/plumbline.yaml'

/** Seconds that a program may take after its drain to close its resources. */
const CLOSING_SECONDS = 10

/** Database connections of one process with the queue on Redis: docs/settings.md. */
const CONNECTIONS = 6

interface Peer {
  readonly ipBlock?: { readonly cidr: string; readonly except?: readonly string[] }
}
interface Policy {
  readonly podSelector: { readonly matchLabels: Readonly<Record<string, string>> }
  readonly egress?: readonly {
    readonly to: readonly Peer[]
    readonly ports?: readonly { readonly port: number }[]
  }[]
}
interface Container {
  readonly command: readonly string[]
  readonly env: readonly { readonly name: string; readonly value: string }[]
  readonly securityContext: object
  readonly resources: object
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[]
  readonly readinessProbe?: object
  readonly livenessProbe?: object
}
interface Pod {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> }
  readonly spec: {
    readonly containers: readonly [Container]
    readonly securityContext: object
    readonly automountServiceAccountToken: boolean
    readonly terminationGracePeriodSeconds: number
    readonly volumes: readonly { readonly name: string; readonly secret?: { secretName: string } }[]
  }
}
interface Manifest {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly data?: Readonly<Record<string, string>>
  readonly spec: object
}

const text = readFileSync(join(ROOT, FILE), 'utf8')
/** Safe because the models have validated each of them, and the tests check the members they use. */
const manifests = parseAllDocuments(text).map((document) => document.toJS() as Manifest)
const shared = manifests.find(({ kind }) => kind === 'ConfigMap')?.data ?? {}
const pods = manifests.flatMap((manifest) => {
  const pod = podIn(manifest)
  return pod === undefined ? [] : [{ name: manifest.metadata.name, pod }]
})
const served = pods.filter(({ name }) => PROGRAMS.some((program) => program.name === name))

describe('the manifests for Kubernetes', () => {
  test('are those generated for this version, each valid for its kind', () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
    expect(text === manifestText(String(version)), 'run npm run kubernetes').toBe(true)
  })

  test('run what docker-compose.yml runs', () => {
    const compose = parse(readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8'), { merge: true })
    const composed = Object.values<{ command?: readonly string[] }>(compose.services)
      .flatMap(({ command }) => (command?.[0] === 'node' ? [command.join(' ')] : []))
      .toSorted()
    const run = pods.map(({ pod }) => containerOf(pod).command.join(' ')).toSorted()
    expect(run).toEqual([...composed, 'node services/cli/src/main.ts data update'].toSorted())
  })

  test.each(pods)('$name starts a program that exists', ({ pod }) => {
    expect(existsSync(join(ROOT, containerOf(pod).command[1] ?? ''))).toBe(true)
  })

  test('set only known variables, and each program accepts its own', () => {
    const settings = readFileSync(join(ROOT, 'docs/settings.md'), 'utf8')
    const known = [...settings.matchAll(/`([A-Z_]+)`/g)].map(([, name = '']) => name)
    for (const { pod } of pods) {
      const names = [...Object.keys(shared), ...Object.keys(ownSettings(pod))]
      const secret = known.filter(isSecret).map(fileVariable)
      expect(
        names.filter((name) => ![...known, ...secret, ...PLATFORM_VARIABLES].includes(name)),
      ).toEqual([])
    }
    for (const { pod } of served) {
      const schema = schemaOf(pod)
      const own = Object.keys(ownSettings(pod)).map((name) => name.replace(/_FILE$/, ''))
      expect(own.filter((name) => !Object.hasOwn(schema.shape, name))).toEqual([])
      expect(() => settingsOf(pod)).not.toThrow()
    }
  })

  test.each(served)('$name has enough time to stop', ({ pod }) => {
    const { DRAIN_SECONDS } = settingsOf(pod)
    const delay = Number(ownSettings(pod)['STOP_DELAY_SECONDS'] ?? 0)
    const longest = delay + DRAIN_SECONDS + CLOSING_SECONDS
    expect(pod.spec.terminationGracePeriodSeconds).toBeGreaterThan(longest)
  })

  test.each(served)('$name has a liveness and a readiness probe', ({ pod }) => {
    expect(containerOf(pod)).toMatchObject({
      livenessProbe: { httpGet: { path: '/livez', port: 'admin' } },
      readinessProbe: { httpGet: { path: '/readyz' } },
    })
    expect(settingsOf(pod).ADMIN_HOST).toBe('0.0.0.0')
  })

  test.each(pods)(
    '$name has no privileges, memory limits, and a read-only root file system',
    ({ pod }) => {
      expect(pod.spec).toMatchObject({
        automountServiceAccountToken: false,
        securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      })
      expect(containerOf(pod)).toMatchObject({
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        },
        resources: { requests: { memory: '512Mi' }, limits: { memory: '1Gi' } },
      })
    },
  )

  test('contain no secret; only the migration connects to the database as its owner', () => {
    expect(text).not.toMatch(/:\/\/[^"\s]*:[^"\s]*@|kind: Secret\b/)
    const owners = pods.filter(({ pod }) =>
      pod.spec.volumes.some(({ secret }) => secret?.secretName === 'plumbline-owner'),
    )
    expect(owners.map(({ name }) => name)).toEqual([expect.stringMatching(/^migrate-/)])
    for (const { pod } of pods) {
      const mounted = containerOf(pod).volumeMounts.map(({ mountPath }) => mountPath)
      for (const [name, path] of Object.entries(ownSettings(pod))) {
        if (!name.endsWith('_FILE')) continue
        expect(mounted.some((folder) => path.startsWith(`${folder}/`))).toBe(true)
      }
    }
  })

  test('let only pods with outside work reach the internet; inside, all reach only the stores', () => {
    const reaching = (address: string, port: number): readonly string[] =>
      pods.filter(({ pod }) => mayReach(pod, address, port)).map(({ name }) => name)
    const outside = [...PROGRAMS.filter(({ asksOutside }) => asksOutside), { name: 'data-update' }]
    const asking = outside.map(({ name }) => name).toSorted()
    expect(asking).not.toContain(API.name)
    for (const port of [25, 43, 443]) {
      expect(reaching('192.0.2.1', port).toSorted()).toEqual(asking)
      expect(reaching('2001:db8::1', port).toSorted()).toEqual(asking)
    }
    for (const address of ['10.1.2.3', '172.16.9.9', '192.168.1.1']) {
      expect(reaching(address, 22)).toEqual([])
      expect(reaching(address, 5432)).toHaveLength(pods.length)
    }
    for (const address of ['169.254.169.254', '127.0.0.1', '100.64.0.1', 'fd00:ec2::254']) {
      expect(reaching(address, 80)).toEqual([])
    }
  })

  test('scale by metrics that the API exports, and name programs that exist', () => {
    const shown = readFileSync(join(ROOT, 'services/api/src/admin-program.ts'), 'utf8')
    const queries = [...text.matchAll(/max\((\w+)\{check="(\w+)"\}\)/g)]
    expect(queries).toHaveLength(12)
    for (const [, metric, check] of queries) {
      expect(shown).toContain(`'${metric}'`)
      expect(Object.keys(workerKinds())).toContain(check)
    }
    const names = new Set(served.map(({ name }) => name))
    const scaled = ofKind('ScaledObject').map(({ metadata }) => metadata.name)
    expect(new Set([...scaled, 'worker-batch'])).toEqual(names)
    expect(ofKind('PodDisruptionBudget').map(({ metadata }) => metadata.name)).toEqual([...names])
  })

  test('leave the number of pods to KEDA where it scales them, also when a version is applied', () => {
    const scaled = ofKind('ScaledObject').map(({ metadata }) => metadata.name)
    const fixed = ofKind('Deployment').filter(({ spec }) => 'replicas' in spec)
    expect(scaled.length).toBeGreaterThan(0)
    expect(fixed.filter(({ metadata }) => scaled.includes(metadata.name))).toEqual([])
    const least = new Map(PROGRAMS.map(({ name, pods: { least: count } }) => [name, count]))
    for (const { metadata, spec } of ofKind('Deployment')) {
      if (scaled.includes(metadata.name)) continue
      expect(spec).toMatchObject({ replicas: least.get(metadata.name) })
    }
    for (const { metadata, spec } of ofKind('ScaledObject')) {
      expect(spec).toMatchObject({ minReplicaCount: least.get(metadata.name) })
    }
  })

  test('open at most as many database connections as docs/operating.md says', () => {
    const most = PROGRAMS.reduce((sum, { pods: { most: count } }) => sum + count, 0)
    const page = readFileSync(join(ROOT, 'docs/operating.md'), 'utf8').replaceAll(/\s+/g, ' ')
    expect(page).toContain(`${most} pods and ${most * CONNECTIONS} connections`)
  })
})

/** Safe because these kinds have their pod at these paths. */
function podIn({ kind, spec }: Manifest): Pod | undefined {
  if (kind === 'Deployment' || kind === 'Job') return (spec as { template: Pod }).template
  if (kind !== 'CronJob') return undefined
  return (spec as { jobTemplate: { spec: { template: Pod } } }).jobTemplate.spec.template
}

function containerOf({ spec: { containers } }: Pod): Container {
  expect(containers).toHaveLength(1)
  return containers[0]
}

function ownSettings(pod: Pod): Readonly<Record<string, string>> {
  return Object.fromEntries(containerOf(pod).env.map(({ name, value }) => [name, value]))
}

function schemaOf(pod: Pod): typeof apiSettings | typeof workerSettings {
  return containerOf(pod).command[1]?.includes('/api/') === true ? apiSettings : workerSettings
}

function settingsOf(pod: Pod): { readonly DRAIN_SECONDS: number; readonly ADMIN_HOST: string } {
  const DATABASE_URL = 'postgres://host/name'
  return schemaOf(pod).parse({ ...shared, ...ownSettings(pod), DATABASE_URL })
}

function workerKinds(): Readonly<Record<string, true>> {
  return Object.fromEntries(PROGRAMS.flatMap(({ check }) => (check ? [[check, true]] : [])))
}

function ofKind(kind: string): readonly Manifest[] {
  return manifests.filter((manifest) => manifest.kind === kind)
}

/**
 * Whether a network policy that selects the pod allows the connection; without such a policy, any is
 * allowed.
 */
function mayReach({ metadata: { labels } }: Pod, address: string, port: number): boolean {
  const policies = ofKind('NetworkPolicy')
    // Safe because the model has validated it.
    .map(({ spec }) => spec as Policy)
    .filter(({ podSelector: { matchLabels } }) =>
      Object.entries(matchLabels).every(([name, value]) => labels[name] === value),
    )
  expect(policies.length).toBeGreaterThan(0)
  return policies
    .flatMap(({ egress = [] }) => egress)
    .some(
      ({ to, ports }) =>
        (ports === undefined || ports.some((allowed) => allowed.port === port)) &&
        to.some(({ ipBlock }) => ipBlock !== undefined && isWithin(ipBlock, address)),
    )
}

function isWithin({ cidr, except = [] }: NonNullable<Peer['ipBlock']>, address: string): boolean {
  return holds(cidr, address) && !except.some((hole) => holds(hole, address))
}

function holds(cidr: string, address: string): boolean {
  const [network = '', bits = ''] = cidr.split('/')
  const family = network.includes(':') ? 'ipv6' : 'ipv4'
  if (address.includes(':') !== network.includes(':')) return false
  const list = new BlockList()
  list.addSubnet(network, Number(bits), family)
  return list.check(address, family)
}
