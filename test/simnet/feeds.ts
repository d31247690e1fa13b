import type { RequestListener } from 'node:http'
import { listenEverywhere } from './http.ts'
import type { Listeners } from './one-port.ts'
import type { World } from './world.ts'
import { NETWORKS } from './world/contact-parts.ts'

/** Lists in their publishers' formats, by host and path of the public URL. */
const FEEDS: Readonly<Record<string, (world: World) => string>> = {
  'check.torproject.org/torbulkexitlist': () => lines(hosts(NETWORKS.tor)),
  'raw.githubusercontent.com/X4BNet/lists_vpn/main/output/vpn/ipv4.txt': () =>
    lines(blocks(NETWORKS.vpn)),
  'raw.githubusercontent.com/X4BNet/lists_vpn/main/output/vpn/ipv6.txt': () => lines([]),
  'raw.githubusercontent.com/X4BNet/lists_vpn/main/output/datacenter/ipv4.txt': () =>
    lines(blocks(NETWORKS.cloud)),
  'raw.githubusercontent.com/X4BNet/lists_vpn/main/output/datacenter/ipv6.txt': () =>
    lines(['2a01:4f8::/32', '2600:1f18::/33']),
  'ip-ranges.amazonaws.com/ip-ranges.json': () =>
    JSON.stringify({
      syncToken: '1790000000',
      createDate: '2026-11-20-00-00-00',
      prefixes: blocks(NETWORKS.cloud)
        .slice(0, 2)
        .map((ip_prefix) => ({ ip_prefix, region: 'eu-west-1', service: 'EC2' })),
      ipv6_prefixes: [{ ipv6_prefix: '2600:1f18::/33', region: 'us-east-1', service: 'EC2' }],
    }),
  'www.gstatic.com/ipranges/cloud.json': () =>
    JSON.stringify({
      syncToken: '1790000000000',
      prefixes: blocks(NETWORKS.cloud)
        .slice(2, 4)
        .map((ipv4Prefix) => ({ ipv4Prefix, service: 'Google Cloud', scope: 'europe-west2' })),
    }),
  'www.spamhaus.org/drop/drop_v4.json': () =>
    `${['45.66.35.0/24', '91.12.63.0/24'].map((cidr) => JSON.stringify({ cidr, sblid: 'SBL1', rir: 'ripencc' })).join('\n')}\n${JSON.stringify({ type: 'metadata', timestamp: 1790000000, copyright: '(c) simulated', terms: 'simulated' })}\n`,
  'raw.githubusercontent.com/stamparm/ipsum/master/ipsum.txt': () =>
    `# IPsum\n${hosts(NETWORKS.tor)
      .map((ip, i) => `${ip}\t${1 + (i % 9)}`)
      .join('\n')}\n`,
  'mask-api.icloud.com/egress-ip-ranges.csv': () =>
    lines(['172.224.224.0/27,GB,GB-EN,London,', '2a04:4e41::/64,DE,DE-BE,Berlin,']),
  'raw.githubusercontent.com/disposable-email-domains/disposable-email-domains/main/disposable_email_blocklist.conf':
    (world) =>
      lines(
        [...world.domains.values()]
          .filter((domain) => domain.disposable === true)
          .map(({ name }) => name),
      ),
}

/** Broken feeds, which an updater must refuse. */
const BROKEN_FEEDS: Readonly<Record<string, string>> = {
  empty: '',
  html: '<!doctype html><html><body>Moved</body></html>',
  binary: '\0\x01\x02'.repeat(1000),
  'everything-is-bad': '0.0.0.0/0\n::/0\n',
  'not-addresses': 'hello\nworld\n',
  'cut-json': '{"prefixes":[{"ip_prefix":"52.95.110.0/24"},',
}

/** Serves `/feeds/<host>/<path>` as the publisher at that address would, and `/broken/<name>`. */
export async function startFeeds(world: World, port: number): Promise<Listeners> {
  const handler: RequestListener = (request, response) => {
    const url = request.url ?? ''
    const feed = FEEDS[url.replace(/^\/feeds\//, '')]
    const text = feed === undefined ? BROKEN_FEEDS[url.replace(/^\/broken\//, '')] : feed(world)
    if (text === undefined) response.writeHead(404).end()
    else
      response
        .writeHead(200, {
          'content-type': 'text/plain',
          'last-modified': new Date(world.todayMs).toUTCString(),
        })
        .end(text)
  }
  return listenEverywhere(new Map([['127.0.0.1', handler]]), port)
}

function lines(entries: readonly string[]): string {
  return entries.map((entry) => `${entry}\n`).join('')
}

/** Ten addresses of each IPv4 network. */
function hosts(networks: readonly string[]): string[] {
  return networks.flatMap((pattern) =>
    Array.from({ length: 10 }, (_, i) => pattern.replace('*', String(1 + i * 7))),
  )
}

function blocks(networks: readonly string[]): string[] {
  return networks
    .filter((pattern) => !pattern.includes(':'))
    .map((pattern) => pattern.replace('*', '0/24'))
}
