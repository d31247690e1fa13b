import { COMPUTED, type Import, SERVICES, targetOf } from './import-graph.ts'

/** Allowed imports of the sources of one package, besides the package's own files and Node's modules. */
export interface Boundary {
  /** Packages of this project. */
  readonly ours: readonly string[]
  /** Packages of third parties. */
  readonly others?: readonly string[]
  /** Whether it may connect or listen: `node:net`, `node:tls`, `node:http` and similar modules. */
  readonly sockets?: boolean
}

/** Packages that the sources of one program may not import; all others are allowed. */
export interface ProgramBoundary {
  /** Packages of this project that it may not import. */
  readonly not: readonly string[]
}

const ENGINE = ['contract', 'ports', 'concurrency', 'net', 'datasets']

/**
 * Allowed imports of every package. A package may only import packages in rows above its own, and is
 * the only one to use its outside system. The test kit has no row. Code that needs another import
 * belongs into another package, or the new entry of the row needs a reason.
 */
export const BOUNDARIES: Readonly<Record<string, Boundary>> = {
  contract: { ours: [], others: ['zod'] },
  ports: { ours: ['contract'] },
  concurrency: { ours: [] },
  net: { ours: ['ports', 'concurrency'], others: ['dns-packet', 'tldts'], sockets: true },
  datasets: { ours: ['net', 'ports', 'concurrency'], others: ['tldts'] },
  scoring: { ours: ['contract'], others: ['tldts'] },
  email: { ours: ENGINE, others: ['socks', 'tldts'] },
  phone: { ours: ENGINE, others: ['libphonenumber-js', 'bson'] },
  ip: { ours: ENGINE, others: ['@photostructure/tz-lookup'] },
  domain: { ours: ENGINE, others: ['tldts', 'tr46'] },
  // It listens once, to find a free port for the packaged Postgres.
  db: {
    ours: ['contract', 'ports', 'concurrency'],
    others: ['pg', 'pg-copy-streams', 'kysely'],
    sockets: true,
  },
  // The operator's own mail server may be in a private network: no egress guard.
  mail: { ours: ['concurrency', 'db'], others: ['nodemailer'] },
  people: {
    ours: ['contract', 'concurrency', 'db', 'mail'],
    others: ['otpauth', '@zxcvbn-ts/language-common'],
  },
  metering: { ours: ['contract', 'db', 'concurrency'], others: ['kysely'] },
  queue: {
    ours: ['contract', 'ports', 'concurrency'],
    others: ['bullmq', 'bullmq-otel', 'ioredis', 'pg'],
  },
  // It listens for the operator, on the admin port of every program.
  runtime: {
    ours: ['ports'],
    others: [
      'pino',
      'prom-client',
      'zod',
      '@opentelemetry/api',
      '@opentelemetry/context-async-hooks',
      '@opentelemetry/core',
      '@opentelemetry/exporter-metrics-otlp-http',
      '@opentelemetry/exporter-trace-otlp-http',
      '@opentelemetry/resources',
      '@opentelemetry/sdk-metrics',
      '@opentelemetry/sdk-trace',
    ],
    sockets: true,
  },
  // The operator's own file store may be in a private network: no egress guard. Its credentials are in
  // the environment.
  storage: { ours: ['runtime'], sockets: true },
  intake: {
    ours: ['contract', 'db', 'storage'],
    others: ['papaparse', 'iconv-lite', 'libphonenumber-js', 'yauzl'],
  },
  pipeline: {
    ours: ['contract', 'ports', 'concurrency', 'db', 'metering', 'queue', 'storage', 'intake'],
    others: ['iconv-lite', 'yazl', 'zod'],
  },
  webhooks: {
    ours: ['contract', 'ports', 'concurrency', 'net', 'db', 'metering', 'pipeline'],
  },
  client: { ours: ['contract'] },
  mcp: { ours: ['contract', 'client'], others: ['@modelcontextprotocol/sdk'] },
}

/** No program imports another, and the API does not run checks. */
const PROGRAMS: Readonly<Record<string, ProgramBoundary>> = {
  api: { not: ['email', 'phone', 'ip', 'domain', 'net', 'datasets', 'testkit'] },
  worker: { not: ['client', 'testkit'] },
  cli: { not: ['testkit'] },
  local: { not: ['email', 'phone', 'ip', 'domain', 'testkit'] },
  // It runs in a browser, where Node's modules do not exist.
  web: {
    not: [
      'ports',
      'concurrency',
      'net',
      'datasets',
      'scoring',
      'email',
      'phone',
      'ip',
      'domain',
      'db',
      'metering',
      'queue',
      'runtime',
      'storage',
      'pipeline',
      'testkit',
    ],
  },
}

/** Node's modules that open connections or listen. */
const SOCKETS = ['net', 'tls', 'dgram', 'http', 'http2', 'https', 'dns', 'dns/promises']

/** Exports of `node:net` that only parse text. */
const READS_ADDRESSES = new Set(['isIP', 'isIPv4', 'isIPv6', 'BlockList'])

/**
 * Violations of the table by a source file, a sentence each; `declared` are the dependencies in its
 * `package.json`.
 */
export function boundaryFaults(
  file: string,
  imports: readonly Import[],
  declared?: ReadonlySet<string>,
): readonly string[] {
  const [folder, packageName = ''] = file.split('/')
  const rules: readonly Rule[] = [
    longPathFault,
    undeclaredFault(declared),
    ...(isTestCode(file) ? [] : [leavingFault, ...(FOLDER_RULES[folder ?? ''] ?? [])]),
  ]
  return imports.flatMap((found) => rules.flatMap((rule) => rule(file, found, packageName) ?? []))
}

/**
 * The violation of a rule by one import of a file in a package or program; null if there is none.
 */
type Rule = (file: string, found: Import, packageName: string) => string | null

const FOLDER_RULES: Readonly<Record<string, readonly Rule[]>> = {
  packages: [packageFault],
  services: [programFault],
}

/** Tests and their helpers may import across packages, but by package name. */
export function isTestCode(file: string): boolean {
  return /\.test\.ts$|-fixture\.ts$/.test(file) || file.startsWith('packages/testkit/')
}

function packageFault(
  file: string,
  { specifier, names }: Import,
  packageName: string,
): string | null {
  const boundary = BOUNDARIES[packageName]
  if (boundary === undefined) return `${file}: packages/${packageName} has no row in the table`
  const ours = ownPackage(specifier)
  if (ours !== null) {
    const isAllowed = ours === packageName || boundary.ours.includes(ours)
    return isAllowed ? null : `${file}: ${packageName} may not import ${specifier}`
  }
  if (specifier.startsWith('.')) return null
  if (specifier === COMPUTED) return `${file}: imports what it computes`
  const node = /^(?:node:)?(.+)$/.exec(specifier)?.[1] ?? specifier
  if (SOCKETS.includes(node)) {
    const opens = names === null || names.some((name) => !READS_ADDRESSES.has(name))
    return boundary.sockets === true || !opens
      ? null
      : `${file}: ${packageName} may not open sockets: ${specifier}`
  }
  if (specifier.startsWith('node:')) return null
  const other = nameOf(specifier)
  return boundary.others?.includes(other) ? null : `${file}: ${packageName} may not import ${other}`
}

function programFault(file: string, { specifier }: Import, packageName: string): string | null {
  const boundary = PROGRAMS[packageName]
  if (boundary === undefined) return `${file}: services/${packageName} has no row in the table`
  const ours = ownPackage(specifier)
  if (ours === null || ours === packageName) return null
  if (SERVICES.has(ours)) return `${file}: services never import each other: ${specifier}`
  return boundary.not.includes(ours) ? `${file}: ${packageName} may not import ${specifier}` : null
}

/** An import that leaves its package by a relative path instead of the other package's name. */
function leavingFault(file: string, { specifier }: Import): string | null {
  const target = targetOf(file, specifier)
  if (!specifier.startsWith('.') || target === null || homeOf(target) === homeOf(file)) return null
  return `${file}: leaves its package by ${specifier}`
}

function longPathFault(file: string, { specifier }: Import): string | null {
  return specifier.startsWith('../../../') ? `${file}: imports by ${specifier}` : null
}

/** An import of another package that is missing in `package.json`, so that it works by chance. */
function undeclaredFault(declared: ReadonlySet<string> | undefined): Rule {
  return (file, { specifier }, packageName) => {
    const ours = ownPackage(specifier)
    if (declared === undefined || ours === null || ours === packageName) return null
    const name = `@plumbline/${ours}`
    return declared.has(name) ? null : `${file}: ${name} is not in its package.json`
  }
}

/** The package of this project that an import names; null if it names none. */
function ownPackage(specifier: string): string | null {
  return /^@plumbline\/([a-z0-9-]+)(?:\/|$)/.exec(specifier)?.[1] ?? null
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
