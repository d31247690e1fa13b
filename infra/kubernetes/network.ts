import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy'
import type { IIoK8sApiNetworkingV1NetworkPolicySpec } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicySpec'
import { INSTALLATION } from './installation.ts'
import { labelsOf, OUTSIDE, PORTS } from './pod.ts'
import { API } from './programs.ts'

const { namespace, stores, callers, monitoring } = INSTALLATION

/** Selects all pods of the service. */
const OURS = { matchLabels: { 'app.kubernetes.io/part-of': 'plumbline' } }

/**
 * Non-public addresses: the cluster's own networks, and link-local with the machine's metadata. The
 * service refuses these itself (`EGRESS_ALLOW`); this is a second barrier. Source: IANA's
 * registries of special-purpose addresses.
 */
const NOT_PUBLIC = [
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.168.0.0/16',
]
const NOT_PUBLIC_6 = ['fc00::/7', 'fe80::/10']

/** Network policies: all traffic is denied except the connections named. */
export function networkPolicies(): readonly NetworkPolicy[] {
  return [
    policy('nothing-else', { podSelector: OURS, policyTypes: ['Ingress', 'Egress'] }),
    policy('to-names', {
      podSelector: OURS,
      policyTypes: ['Egress'],
      egress: [
        {
          to: [
            {
              namespaceSelector: inNamespace('kube-system'),
              podSelector: { matchLabels: { 'k8s-app': 'kube-dns' } },
            },
          ],
          ports: [
            { protocol: 'UDP', port: 53 },
            { protocol: 'TCP', port: 53 },
          ],
        },
      ],
    }),
    policy('to-stores', {
      podSelector: OURS,
      policyTypes: ['Egress'],
      egress: [
        {
          to: stores.networks.map((cidr) => ({ ipBlock: { cidr } })),
          ports: stores.ports.map((port) => ({ protocol: 'TCP', port })),
        },
      ],
    }),
    policy('to-outside', {
      podSelector: { matchLabels: OUTSIDE },
      policyTypes: ['Egress'],
      egress: [
        {
          to: [
            { ipBlock: { cidr: '0.0.0.0/0', except: NOT_PUBLIC } },
            { ipBlock: { cidr: '::/0', except: NOT_PUBLIC_6 } },
          ],
        },
      ],
    }),
    policy('from-callers', {
      podSelector: { matchLabels: labelsOf(API.name) },
      policyTypes: ['Ingress'],
      ingress: [
        {
          from: [{ namespaceSelector: inNamespace(callers) }],
          ports: [{ protocol: 'TCP', port: PORTS.http }],
        },
      ],
    }),
    policy('from-monitoring', {
      podSelector: OURS,
      policyTypes: ['Ingress'],
      ingress: [
        {
          from: [{ namespaceSelector: inNamespace(monitoring) }],
          ports: [{ protocol: 'TCP', port: PORTS.admin }],
        },
      ],
    }),
  ]
}

function policy(name: string, spec: IIoK8sApiNetworkingV1NetworkPolicySpec): NetworkPolicy {
  return new NetworkPolicy({ metadata: { name, namespace }, spec })
}

function inNamespace(name: string): { matchLabels: Record<string, string> } {
  return { matchLabels: { 'kubernetes.io/metadata.name': name } }
}
