/** Format of a public source. */
export type ListFormat =
  | 'lines'
  | 'geofeed'
  | 'json-prefixes'
  | 'azure-tags'
  | 'misp'
  | 'drop'
  | 'asndrop'
  | 'ipsum'

/** Value of the threat level for hijacked and criminal networks. */
const HIJACKED = 9
/**
 * Minimum number of independent lists that name an address. With fewer, most rows of ipsum are
 * noise.
 */
const IPSUM_LEAST = 3
const IPSUM_MOST = 8

/**
 * Converts a source's text into entries of our own list files.
 *
 * @throws if the text has another format
 */
export function readFormat(format: ListFormat, text: string): readonly string[] {
  switch (format) {
    case 'lines':
      return linesOf(text)
    case 'geofeed':
      // RFC 8805: prefix,country,region,city,postal
      return linesOf(text).map((line) => (line.split(',')[0] ?? '').trim())
    case 'json-prefixes':
      return prefixesIn(JSON.parse(text))
    case 'azure-tags':
      return azureEntries(JSON.parse(text))
    case 'misp':
      return mispEntries(JSON.parse(text))
    case 'drop':
      return jsonLines(text, 'cidr').map((cidr) => `${cidr}\t${HIJACKED}`)
    case 'asndrop':
      return jsonLines(text, 'asn').map((asn) => `AS${asn}`)
    case 'ipsum':
      return linesOf(text).flatMap(ipsumEntry)
  }
}

function linesOf(text: string): readonly string[] {
  return text
    .split('\n')
    .map((line) => line.replace(/#.*$/, '').trim())
    .filter((line) => line !== '')
}

function ipsumEntry(line: string): readonly string[] {
  const [address = '', count = ''] = line.split('\t')
  const lists = Number(count)
  if (!Number.isInteger(lists))
    throw new Error(`expected address and count, got ${line.slice(0, 60)}`)
  return lists < IPSUM_LEAST ? [] : [`${address}\t${Math.min(lists, IPSUM_MOST)}`]
}

/** Fields that hold a prefix in the files of Amazon, Google and Oracle. */
const PREFIX_FIELDS = new Set(['ip_prefix', 'ipv6_prefix', 'ipv4Prefix', 'ipv6Prefix', 'cidr'])
const DEPTH_MAX = 8

function prefixesIn(value: unknown, depth = 0): readonly string[] {
  if (depth > DEPTH_MAX || typeof value !== 'object' || value === null) return []
  const found: string[] = []
  for (const [key, item] of Object.entries(value)) {
    if (typeof item === 'string') {
      if (PREFIX_FIELDS.has(key)) found.push(item)
    } else for (const prefix of prefixesIn(item, depth + 1)) found.push(prefix)
  }
  return found
}

/** The tag with the addresses of all data centres of Azure. */
const AZURE_TAG = 'AzureCloud'

function azureEntries(value: unknown): readonly string[] {
  const tags = fieldOf(value, 'values')
  if (!Array.isArray(tags)) throw new Error('expected service tags in values')
  const cloud: unknown = tags.find((tag) => fieldOf(tag, 'name') === AZURE_TAG)
  const prefixes = fieldOf(fieldOf(cloud, 'properties'), 'addressPrefixes')
  if (!Array.isArray(prefixes)) throw new Error(`expected addresses of the tag ${AZURE_TAG}`)
  return prefixes.filter((prefix) => typeof prefix === 'string')
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null
    ? Object.entries(value).find(([key]) => key === name)?.[1]
    : undefined
}

function mispEntries(value: unknown): readonly string[] {
  const list = fieldOf(value, 'list')
  if (!Array.isArray(list)) throw new Error('expected a warning list with its entries in list')
  return list.filter((entry) => typeof entry === 'string')
}

/** A field of every line that has it; the last line describes the file and has none. */
function jsonLines(text: string, field: string): readonly (string | number)[] {
  // A `#` within a line is part of a name.
  const lines = text.split('\n').filter((line) => !/^\s*(?:#|$)/.test(line))
  return lines.flatMap((line) => {
    const found = fieldOf(JSON.parse(line), field)
    return typeof found === 'string' || typeof found === 'number' ? [found] : []
  })
}
