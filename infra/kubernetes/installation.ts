/**
 * Values that differ between clusters, from which the manifests are generated. An overlay of Kustomize may
 * change the manifests as well, and keeps such changes separate from those of a new version.
 */
export const INSTALLATION = {
  namespace: 'plumbline',
  image: 'plumbline',
  /** Settings that every program gets. Names and meanings: docs/settings.md. */
  settings: {
    FILES_URL: 's3://plumbline/files',
    PUBLIC_URL: 'https://plumbline.example.com',
    SMTP_HELO_NAME: 'verify.example.com',
    SMTP_MAIL_FROM: 'verify@example.com',
    /**
     * The proxies of the cluster: pods have addresses in these ranges, and only those of `callers`
     * reach the API.
     */
    TRUSTED_PROXIES: '10.0.0.0/8,172.16.0.0/12,192.168.0.0/16',
  },
  /** Addresses and ports of Postgres, Redis, the file store and the mail server. */
  stores: {
    networks: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'],
    ports: [5432, 6379, 443, 587],
  },
  /** Namespace of the proxy that forwards requests to the API. */
  callers: 'ingress-nginx',
  /** Namespace of Prometheus, which KEDA queries. */
  monitoring: 'monitoring',
  prometheus: 'http://prometheus-operated.monitoring.svc:9090',
  /**
   * A storage class that several machines may mount, for the reference lists; unset: the cluster's
   * default.
   */
  listsStorageClass: undefined,
} as const satisfies Installation

interface Installation {
  readonly namespace: string
  readonly image: string
  readonly settings: Readonly<Record<string, string>>
  readonly stores: { readonly networks: readonly string[]; readonly ports: readonly number[] }
  readonly callers: string
  readonly monitoring: string
  readonly prometheus: string
  readonly listsStorageClass: string | undefined
}
