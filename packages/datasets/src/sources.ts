import type { ListFormat } from './formats.ts'
import type { AsnListName, NameListName, RangeListName } from './source.ts'

/** A public source of a list. */
export interface PublicSource {
  readonly list: NameListName | RangeListName | AsnListName
  /** Part of the file name: `<list>.<name>.txt`. */
  readonly name: string
  readonly urls: readonly string[]
  /** Pattern of the link to the list, if `urls` are pages that contain it. */
  readonly link?: RegExp
  readonly format: ListFormat
  readonly licence: string
  /** Minimum number of entries: fewer are an error of the source, not a change. */
  readonly leastEntries: number
  readonly maxBytes: number
}

const MIB = 1024 * 1024
const GITHUB = 'https://raw.githubusercontent.com'

/**
 * The public sources. Minimum entries: about half of what each had in August to November 2026. Left
 * out: MISP's vpn-ipv4, which is a list of data centres, and its parking-domain, with addresses
 * that Cloudflare shares among its customers; of FireHOL level 1 (bogons, and DROP, which is
 * included separately), levels 3 and 4 (false positives), anonymous (the union of others here).
 * CDNs do not count as data centres: they carry the traffic of private users.
 */
export const PUBLIC_SOURCES: readonly PublicSource[] = [
  {
    list: 'tor',
    name: 'torproject',
    urls: ['https://check.torproject.org/torbulkexitlist'],
    format: 'lines',
    licence: 'CC0-1.0',
    leastEntries: 500,
    maxBytes: MIB,
  },
  {
    list: 'vpn',
    name: 'x4bnet',
    urls: [
      `${GITHUB}/X4BNet/lists_vpn/main/output/vpn/ipv4.txt`,
      `${GITHUB}/X4BNet/lists_vpn/main/output/vpn/ipv6.txt`,
    ],
    format: 'lines',
    licence: 'MIT',
    leastEntries: 4_000,
    maxBytes: 8 * MIB,
  },
  {
    list: 'datacenter',
    name: 'x4bnet',
    urls: [
      `${GITHUB}/X4BNet/lists_vpn/main/output/datacenter/ipv4.txt`,
      `${GITHUB}/X4BNet/lists_vpn/main/output/datacenter/ipv6.txt`,
    ],
    format: 'lines',
    licence: 'MIT',
    leastEntries: 20_000,
    maxBytes: 16 * MIB,
  },
  {
    list: 'datacenter',
    name: 'aws',
    urls: ['https://ip-ranges.amazonaws.com/ip-ranges.json'],
    format: 'json-prefixes',
    licence: 'published by Amazon for use',
    leastEntries: 3_000,
    maxBytes: 16 * MIB,
  },
  {
    list: 'datacenter',
    name: 'google-cloud',
    urls: ['https://www.gstatic.com/ipranges/cloud.json'],
    format: 'json-prefixes',
    licence: 'published by Google for use',
    leastEntries: 200,
    maxBytes: 4 * MIB,
  },
  {
    list: 'datacenter',
    name: 'azure',
    urls: ['https://www.microsoft.com/en-us/download/details.aspx?id=56519'],
    link: /https:\/\/download\.microsoft\.com\/download\/[\w/-]{1,200}\/ServiceTags_Public_\d{8}\.json/,
    format: 'azure-tags',
    licence: 'published by Microsoft for use',
    leastEntries: 2_000,
    maxBytes: 32 * MIB,
  },
  {
    list: 'datacenter',
    name: 'misp-ovh',
    urls: [`${GITHUB}/MISP/misp-warninglists/main/lists/ovh-cluster/list.json`],
    format: 'misp',
    licence: 'CC0-1.0',
    leastEntries: 50,
    maxBytes: MIB,
  },
  {
    list: 'datacenter',
    name: 'oracle-cloud',
    urls: ['https://docs.oracle.com/en-us/iaas/tools/public_ip_ranges.json'],
    format: 'json-prefixes',
    licence: 'published by Oracle for use',
    leastEntries: 200,
    maxBytes: 4 * MIB,
  },
  {
    list: 'datacenter',
    name: 'digitalocean',
    urls: ['https://digitalocean.com/geo/google.csv'],
    format: 'geofeed',
    licence: 'published by DigitalOcean for use',
    leastEntries: 300,
    maxBytes: 4 * MIB,
  },
  {
    list: 'datacenter',
    name: 'linode',
    urls: ['https://geoip.linode.com/'],
    format: 'geofeed',
    licence: 'published by Akamai for use',
    leastEntries: 300,
    maxBytes: 4 * MIB,
  },
  {
    list: 'datacenter',
    name: 'vultr',
    urls: ['https://geofeed.constant.com/?text'],
    format: 'geofeed',
    licence: 'published by Vultr for use',
    leastEntries: 100,
    maxBytes: 4 * MIB,
  },
  {
    list: 'relay',
    name: 'icloud-private-relay',
    urls: ['https://mask-api.icloud.com/egress-ip-ranges.csv'],
    format: 'geofeed',
    licence: 'published by Apple for use',
    leastEntries: 10_000,
    maxBytes: 64 * MIB,
  },
  {
    list: 'allow',
    name: 'googlebot',
    urls: ['https://developers.google.com/static/search/apis/ipranges/googlebot.json'],
    format: 'json-prefixes',
    licence: 'published by Google for use',
    leastEntries: 60,
    maxBytes: MIB,
  },
  {
    list: 'allow',
    name: 'bingbot',
    urls: ['https://www.bing.com/toolbox/bingbot.json'],
    format: 'json-prefixes',
    licence: 'published by Microsoft for use',
    leastEntries: 10,
    maxBytes: MIB,
  },
  {
    list: 'proxy',
    name: 'firehol-proxies',
    urls: ['https://iplists.firehol.org/files/firehol_proxies.netset'],
    format: 'lines',
    licence: 'per source, see iplists.firehol.org',
    leastEntries: 500,
    maxBytes: 16 * MIB,
  },
  {
    list: 'threat',
    name: 'spamhaus-drop',
    urls: [
      'https://www.spamhaus.org/drop/drop_v4.json',
      'https://www.spamhaus.org/drop/drop_v6.json',
    ],
    format: 'drop',
    licence: '(c) The Spamhaus Project, free with credit',
    leastEntries: 500,
    maxBytes: 4 * MIB,
  },
  {
    list: 'threat-asn',
    name: 'spamhaus-asndrop',
    urls: ['https://www.spamhaus.org/drop/asndrop.json'],
    format: 'asndrop',
    licence: '(c) The Spamhaus Project, free with credit',
    leastEntries: 100,
    maxBytes: 4 * MIB,
  },
  {
    list: 'threat',
    name: 'ipsum',
    urls: [`${GITHUB}/stamparm/ipsum/master/ipsum.txt`],
    format: 'ipsum',
    licence: 'Unlicense',
    leastEntries: 4_000,
    maxBytes: 16 * MIB,
  },
  {
    list: 'threat',
    name: 'firehol-level2',
    urls: ['https://iplists.firehol.org/files/firehol_level2.netset'],
    format: 'lines',
    licence: 'per source, see iplists.firehol.org',
    leastEntries: 5_000,
    maxBytes: 16 * MIB,
  },
  {
    list: 'disposable',
    name: 'disposable-email-domains-js',
    urls: [
      `${GITHUB}/disposable-email-domains/disposable-email-domains/main/disposable_email_blocklist.conf`,
    ],
    format: 'lines',
    licence: 'CC0-1.0',
    leastEntries: 4_000,
    maxBytes: 4 * MIB,
  },
  {
    list: 'disposable',
    name: 'fakefilter',
    urls: [`${GITHUB}/7c/fakefilter/main/txt/data.txt`],
    format: 'lines',
    licence: 'BSD-3-Clause',
    leastEntries: 2_000,
    maxBytes: 4 * MIB,
  },
  {
    list: 'parking-ns',
    name: 'misp',
    urls: [`${GITHUB}/MISP/misp-warninglists/main/lists/parking-domain-ns/list.json`],
    format: 'misp',
    licence: 'CC0-1.0',
    leastEntries: 60,
    maxBytes: MIB,
  },
]

/**
 * The address of a public file on a mirror: `https://host/path` becomes `<base>/host/path`. For
 * networks without internet access; an address that is not https is already inside the network.
 */
export function mirrorAt(base: string): (url: string) => string {
  const root = base.replace(/\/+$/, '')
  return (url) => url.replace(/^https:\/\//, `${root}/`)
}
