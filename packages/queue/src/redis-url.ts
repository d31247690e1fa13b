/** What a Redis URL names: one server, whose URL the driver reads itself, or the nodes of a cluster. */
export type RedisAddress =
  | { readonly kind: 'server' }
  | {
      readonly kind: 'cluster'
      readonly nodes: readonly ClusterNode[]
      /** Empty if the URL has none. */
      readonly username: string
      /** Empty if the URL has none. */
      readonly password: string
      readonly isTls: boolean
    }

/** A node of a cluster; `host` is a name or an address without brackets. */
export interface ClusterNode {
  readonly host: string
  readonly port: number
}

/**
 * Reads a `redis://`, `rediss://`, `redis-cluster://` or `rediss-cluster://` URL.
 *
 * @throws if it is of another kind, with its scheme only, as the rest may contain a password
 */
export function readRedisUrl(url: string): RedisAddress {
  const match = /^(rediss?)(-cluster)?:\/\/(.+)$/.exec(url)
  if (match === null) {
    throw new Error(`a Redis URL begins with redis:// or redis-cluster://, got ${scheme(url)}`)
  }
  const [, plain = '', cluster, rest = ''] = match
  if (cluster === undefined) return { kind: 'server' }
  const at = rest.lastIndexOf('@') + 1
  const login = rest.slice(0, at)
  const hosts = rest.slice(at).replace(/\/.*$/, '').split(',')
  const first = new URL(`${plain}://${login}${hosts[0] ?? ''}`)
  return {
    kind: 'cluster',
    nodes: hosts.map((host) => nodeOf(new URL(`${plain}://${host}`))),
    username: decodeURIComponent(first.username),
    password: decodeURIComponent(first.password),
    isTls: plain === 'rediss',
  }
}

function nodeOf({ hostname, port }: URL): ClusterNode {
  // An IPv6 address is in brackets only where a port follows it.
  const host = hostname.replace(/^\[(.+)\]$/, '$1')
  return { host, port: port === '' ? DEFAULT_PORT : Number(port) }
}

/** Source: IANA service names and port numbers, "redis". */
const DEFAULT_PORT = 6379

function scheme(url: string): string {
  return JSON.stringify(url.slice(0, Math.max(0, url.indexOf(':'))))
}
