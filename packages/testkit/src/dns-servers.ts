import { execFile, spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Address of each server, on port 53. No server listens at `nobody`. */
export const AT = {
  /** Knot: the root and the zone `test`. */
  parent: '127.53.0.1',
  /** NSD: every zone below `test`. */
  children: '127.53.0.2',
  /** BIND: the second server of `healthy.test`. It only binds addresses that an interface has. */
  second: '127.0.0.1',
  nobody: '127.53.0.9',
  /** Unbound, validating with trust anchors of its own. */
  recursive: '127.53.0.10',
} as const

const BINARIES = ['named', 'nsd', 'knotd', 'unbound', 'dnssec-keygen', 'dnssec-signzone'] as const

/** The Debian packages of the servers. */
export const PACKAGES = 'bind9 bind9-utils nsd knot unbound'

/** Why the servers cannot run here; null if they can. */
export function missingServers(): string | null {
  if (process.getuid?.() !== 0) return 'port 53 needs root'
  const missing = BINARIES.filter((name) => spawnSync('which', [name]).status !== 0)
  return missing.length === 0 ? null : `not installed: ${missing.join(', ')} (apt: ${PACKAGES})`
}

/** Zones by name, in master-file format, without SOA and NS of the apex, which are added. */
export interface Zones {
  readonly children: Readonly<Record<string, string>>
  /** Lines of the zone `test`: delegations and glue records. */
  readonly delegations: string
  /** Signed child zones: `good` with the resolver's anchor, `bad` with another one. */
  readonly signed: Readonly<Record<string, 'good' | 'bad'>>
}

/** Starts third-party name servers, which together serve the given zones. */
export async function startDnsServers(zones: Zones): Promise<AsyncDisposable> {
  const dir = await mkdtemp(join(tmpdir(), 'dns-servers-'))
  const children: ChildProcess[] = []
  const stop = async (): Promise<void> => {
    for (const child of children) child.kill('SIGTERM')
    const running = children.filter(
      ({ exitCode, signalCode }) => exitCode === null && signalCode === null,
    )
    await Promise.all(running.map((child) => once(child, 'exit')))
    await rm(dir, { recursive: true, force: true })
  }
  try {
    const anchors = await writeZones(dir, zones)
    await writeConfigs(dir, zones, anchors)
    children.push(start('named', ['-f', '-c', join(dir, 'named.conf')]))
    children.push(start('nsd', ['-d', '-c', join(dir, 'nsd.conf')]))
    children.push(start('knotd', ['-c', join(dir, 'knot.conf')]))
    children.push(start('unbound', ['-d', '-c', join(dir, 'unbound.conf')]))
    return { [Symbol.asyncDispose]: stop }
  } catch (error) {
    await stop()
    throw error
  }
}

function start(binary: string, args: readonly string[]): ChildProcess {
  return spawn(binary, args, { stdio: 'ignore' })
}

function zoneFile(zone: string, servers: readonly string[], lines: string): string {
  const apex = zone === '.' ? '.' : `${zone}.`
  return [
    '$TTL 300',
    `${apex} IN SOA ns.test. host.test. 1 3600 600 86400 60`,
    ...servers.map((server) => `${apex} IN NS ${server}`),
    lines,
    '',
  ].join('\n')
}

async function writeZones(dir: string, zones: Zones): Promise<string[]> {
  await writeFile(
    join(dir, 'root.zone'),
    zoneFile('.', ['ns.test.'], `test. IN NS ns.test.\nns.test. IN A ${AT.parent}`),
  )
  await writeFile(
    join(dir, 'test.zone'),
    zoneFile('test', ['ns.test.'], `$ORIGIN test.\nns IN A ${AT.parent}\n${zones.delegations}`),
  )
  const anchors: string[] = []
  for (const [zone, lines] of Object.entries(zones.children)) {
    const file = join(dir, `${zone}.zone`)
    const servers = /^@ IN NS/m.test(lines) ? [] : ['ns1.healthy.test.']
    await writeFile(file, zoneFile(zone, servers, `$ORIGIN ${zone}.\n${lines}`))
    const signed = zones.signed[zone]
    if (signed !== undefined) anchors.push(await sign(dir, zone, file, signed))
  }
  return anchors
}

async function sign(dir: string, zone: string, file: string, how: 'good' | 'bad'): Promise<string> {
  const keys = join(dir, `keys-${zone}`)
  await mkdir(keys)
  const make = async (into: string): Promise<void> => {
    await run('dnssec-keygen', ['-K', into, '-a', 'ECDSAP256SHA256', '-f', 'KSK', zone])
  }
  await make(keys)
  await run('dnssec-keygen', ['-K', keys, '-a', 'ECDSAP256SHA256', zone])
  await run('dnssec-signzone', ['-S', '-K', keys, '-o', zone, '-f', file, file], { cwd: dir })
  if (how === 'good') return anchorOf(keys)
  const others = join(dir, `others-${zone}`)
  await mkdir(others)
  await make(others)
  return anchorOf(others)
}

async function anchorOf(keys: string): Promise<string> {
  for (const name of (await readdir(keys)).filter((entry) => entry.endsWith('.key'))) {
    const text = await readFile(join(keys, name), 'utf8')
    const line = text.split('\n').find((entry) => / DNSKEY 257 /.test(entry))
    if (line !== undefined) return line
  }
  throw new Error(`no key-signing key in ${keys}`)
}

async function writeConfigs(dir: string, zones: Zones, anchors: readonly string[]): Promise<void> {
  const names = Object.keys(zones.children)
  const write = (name: string, lines: readonly string[]): Promise<void> =>
    writeFile(join(dir, name), `${lines.join('\n')}\n`)
  await write('named.conf', [
    `options { directory "${dir}"; listen-on { ${AT.second}; }; listen-on-v6 { none; };`,
    '  recursion no; dnssec-validation no; pid-file none; session-keyfile none; };',
    'controls { };',
    'zone "healthy.test" { type master; file "healthy.test.zone"; };',
  ])
  await write('nsd.conf', [
    'server:',
    `  ip-address: ${AT.children}`,
    `  zonesdir: "${dir}"`,
    '  username: ""',
    '  chroot: ""',
    `  pidfile: "${dir}/nsd.pid"`,
    '  database: ""',
    `  xfrdfile: "${dir}/xfrd.state"`,
    `  xfrdir: "${dir}"`,
    `  zonelistfile: "${dir}/zone.list"`,
    '  server-count: 1',
    'remote-control:',
    '  control-enable: no',
    ...names.flatMap((zone) => ['zone:', `  name: "${zone}"`, `  zonefile: "${zone}.zone"`]),
  ])
  await mkdir(join(dir, 'knot'))
  await write('knot.conf', [
    'server:',
    `  rundir: "${dir}/knot"`,
    '  user: root',
    `  listen: ${AT.parent}@53`,
    'database:',
    `  storage: "${dir}/knot"`,
    'template:',
    '  - id: default',
    '    zonefile-sync: -1',
    '    journal-content: none',
    'zone:',
    '  - domain: .',
    `    file: "${dir}/root.zone"`,
    '  - domain: test',
    `    file: "${dir}/test.zone"`,
  ])
  await write('root.hints', ['. 300 IN NS ns.test.', `ns.test. 300 IN A ${AT.parent}`])
  await write('anchors', anchors)
  await write('unbound.conf', [
    'server:',
    `  interface: ${AT.recursive}`,
    '  username: ""',
    '  chroot: ""',
    `  directory: "${dir}"`,
    '  pidfile: ""',
    '  use-syslog: no',
    `  logfile: "${dir}/unbound.log"`,
    '  do-daemonize: no',
    '  do-not-query-localhost: no',
    '  do-ip6: no',
    `  root-hints: "${dir}/root.hints"`,
    `  trust-anchor-file: "${dir}/anchors"`,
    '  module-config: "validator iterator"',
    '  local-zone: "test." nodefault',
    '  access-control: 127.0.0.0/8 allow',
    '  infra-host-ttl: 1',
    'remote-control:',
    '  control-enable: no',
  ])
}
