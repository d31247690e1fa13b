import { COMPUTED, type Import, SERVICES, targetOf } from './import-graph.ts'

/** What the sources of one package or program may import. */
export interface Boundary {
  /** Packages of ours. */
  readonly ours: readonly string[]
  /** Packages of others, by name. */
  readonly others?: readonly string[]
  /** Whether it may open sockets or serve: `node:net`, `node:tls`, `node:http` and their kind. */
  readonly sockets?: boolean
}

const ENGINE = ['contract', 'ports', 'concurrency', 'net', 'datasets']

/**
 * The rooms of the house, from the ground up: each is the only owner of one outside thing, and an arrow
 * leads down only. What a new file needs and does not find here belongs to another room, or needs a reason.
 */
export const BOUNDARIES: Readonly<Record<string, Boundary>> = {
  contract: { ours: [], others: ['zod'] },
  ports: { ours: ['contract'] },
  concurrency: { ours: [] },
  net: { ours: ['ports', 'concurrency'], others: ['dns-packet'], sockets: true },
  datasets: { ours: ['net', 'ports', 'concurrency'], others: ['tldts'] },
  scoring: { ours: ['contract'], others: ['tldts'] },
  email: { ours: ENGINE, others: ['socks', 'tldts'] },
  phone: { ours: ENGINE, others: ['libphonenumber-js', 'bson'] },
  ip: { ours: ENGINE, others: ['@photostructure/tz-lookup'] },
  domain: { ours: ENGINE, others: ['tldts', 'tr46'] },
  // A socket, to find a free port for the packaged Postgres.
  db: { ours: ['contract', 'ports', 'concurrency'], others: ['pg', 'kysely'], sockets: true },
  metering: { ours: ['contract', 'db', 'concurrency'], others: ['kysely'] },
  queue: { ours: ['contract', 'ports', 'concurrency'], others: ['bullmq', 'ioredis', 'pg'] },
  // The operator's own store, which the egress guard is not for; credentials of it stand in the environment.
  storage: { ours: ['runtime'], sockets: true },
  pipeline: {
    ours: ['contract', 'ports', 'concurrency', 'db', 'metering', 'queue', 'storage'],
    others: ['papaparse', 'iconv-lite', 'libphonenumber-js', 'zod'],
  },
  runtime: { ours: ['ports'], others: ['pino', 'prom-client', 'zod'] },
  client: { ours: ['contract'] },
}

/** Modules of Node's that reach other machines or serve them. */
const SOCKETS = ['net', 'tls', 'dgram', 'http', 'http2', 'https', 'dns', 'dns/promises']

/** What reads text alone and opens nothing. */
const READS_ADDRESSES = new Set(['isIP', 'isIPv4', 'isIPv6', 'BlockList'])

/** The rooms whose sources may import a package of others, beside those that declare it above. */
export function boundaryFaults(file: string, imports: readonly Import[]): readonly string[] {
  const [folder, room = ''] = file.split('/')
  const boundary = folder === 'packages' ? BOUNDARIES[room] : undefined
  if (isTestCode(file)) return imports.flatMap((met) => longWay(file, met))
  return imports.flatMap((met) => [
    ...longWay(file, met),
    ...crossing(file, met),
    ...(folder === 'packages' ? packageFaults(file, room, boundary, met) : []),
    ...(folder === 'services' ? serviceFaults(file, room, met) : []),
  ])
}

/** Tests, and what only they use, may reach across; they too go by a package's name. */
export function isTestCode(file: string): boolean {
  return /\.test\.ts$|-fixture\.ts$/.test(file) || file.startsWith('packages/testkit/')
}

function packageFaults(
  file: string,
  room: string,
  boundary: Boundary | undefined,
  { specifier, names }: Import,
): readonly string[] {
  if (boundary === undefined) return [`${file}: packages/${room} has no row in the table`]
  const ours = /^@plumbline\/([a-z0-9-]+)\//.exec(specifier)?.[1]
  if (ours !== undefined) {
    return ours === room || boundary.ours.includes(ours)
      ? []
      : [`${file}: ${room} may not import ${specifier}`]
  }
  if (specifier.startsWith('.')) return []
  if (specifier === COMPUTED) return [`${file}: imports what it computes`]
  const node = /^(?:node:)?(.+)$/.exec(specifier)?.[1] ?? specifier
  if (SOCKETS.includes(node)) {
    const opens = names === null || names.some((name) => !READS_ADDRESSES.has(name))
    return boundary.sockets === true || !opens
      ? []
      : [`${file}: ${room} may not open sockets, met ${specifier}`]
  }
  if (specifier.startsWith('node:')) return []
  const other = nameOf(specifier)
  return (boundary.others ?? []).includes(other) ? [] : [`${file}: ${room} may not import ${other}`]
}

function serviceFaults(file: string, room: string, { specifier }: Import): readonly string[] {
  const ours = /^@plumbline\/([a-z0-9-]+)\//.exec(specifier)?.[1]
  if (ours === 'testkit') return [`${file}: only tests import the test kit`]
  return ours !== undefined && ours !== room && SERVICES.has(ours)
    ? [`${file}: services never import each other, met ${specifier}`]
    : []
}

/** An import that leaves its room by a path of dots instead of by the name of the other. */
function crossing(file: string, { specifier }: Import): readonly string[] {
  const target = targetOf(file, specifier)
  if (!specifier.startsWith('.') || target === null) return []
  return homeOf(target) === homeOf(file) ? [] : [`${file}: leaves its package by ${specifier}`]
}

function longWay(file: string, { specifier }: Import): readonly string[] {
  return specifier.startsWith('../../../') ? [`${file}: imports by ${specifier}`] : []
}

function homeOf(file: string): string {
  return /^(?:packages|services)\//.test(file) ? file.split('/').slice(0, 2).join('/') : 'root'
}

function nameOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}
