import type { EngineHealth } from '@plumbline/ports/engine'
import type { Egress } from '@plumbline/net/egress'
import type { Resolver } from '@plumbline/net/resolver'
import { isListed, isListRefusal } from '@plumbline/net/blocklist-code'
import { pointerName, reversedName } from '@plumbline/net/reversed-name'
import { parseAddress } from '@plumbline/net/address-bytes'
import { findAddresses, findRoute } from './mx.ts'
import { checkSpf } from './spf.ts'
import { isSpfRecord } from './spf-record.ts'

/** Settings and dependencies of the self-test. */
export interface SelfTestOptions {
  readonly egress: Egress
  readonly resolver: Resolver
  readonly port: number
  readonly heloName: string
  readonly mailFrom: string
  readonly sourceAddresses: readonly string[]
  /**
   * DNS blocklist zones to query for our addresses; none by default, as most require a contract.
   */
  readonly dnsbl: readonly string[]
  /** Domains whose mail hosts show whether port 25 is open. */
  readonly targets: readonly string[]
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/**
 * Domains of three large providers: if none of them can be reached, port 25 is blocked on our side.
 */
export const SELF_TEST_TARGETS: readonly string[] = ['gmail.com', 'outlook.com', 'yahoo.com']

/** Result of the self-test. */
export interface SelfTest {
  /** Whether mail hosts can be reached at all; null if DNS failed. */
  readonly portOpen: boolean | null
  readonly health: readonly EngineHealth[]
}

/**
 * Tests the properties of our host that mail hosts check: port 25, HELO name, reverse DNS, SPF of
 * the sender, and blocklists. Rows that need our public address are left out if no source address
 * is set and the socket shows a private one.
 */
export async function runSelfTest(options: SelfTestOptions): Promise<SelfTest> {
  const port = await testPort(options)
  const ours = [...new Set([...options.sourceAddresses, ...port.localAddresses])].filter(isPublic)
  const rows = await Promise.all([
    testHelo(options, ours),
    testSpf(options, ours),
    ...ours.map((address) => testReverse(options, address)),
    ...ours.flatMap((address) =>
      options.dnsbl.map((zone) => testBlocklist(options, address, zone)),
    ),
  ])
  return { portOpen: port.open, health: [port.row, ...rows] }

  function isPublic(address: string): boolean {
    return options.egress.permits(address) && !options.egress.allowed(address)
  }
}

async function testPort(
  options: SelfTestOptions,
): Promise<{ open: boolean | null; row: EngineHealth; localAddresses: readonly string[] }> {
  const { resolver, egress, port, signal, timeoutMs } = options
  const name = `smtp port ${port}`
  const localAddresses: string[] = []
  let tried = 0
  let reached = 0
  await Promise.all(
    options.targets.map(async (domain) => {
      const route = await findRoute(resolver, domain, Math.random, signal)
      const host = route.kind === 'hosts' ? route.hosts[0] : undefined
      if (host === undefined) return
      const found = await findAddresses(resolver, egress.permits, host, signal)
      const address = found.kind === 'addresses' ? found.addresses[0] : undefined
      if (address === undefined) return
      tried++
      try {
        const socket = await egress.dial({ address, port, timeoutMs, signal })
        reached++
        if (socket.localAddress !== undefined) localAddresses.push(socket.localAddress)
        socket.destroy()
      } catch {
        // Not counted in `reached`.
      }
    }),
  )
  if (tried === 0) {
    const row: EngineHealth = {
      name,
      status: 'degraded',
      detail: 'no mail host of the test domains could be found',
    }
    return { open: null, row, localAddresses }
  }
  const row: EngineHealth =
    reached > 0
      ? { name, status: 'ok', detail: `${reached} of ${tried} large providers reached` }
      : {
          name,
          status: 'failed',
          detail: `none of ${tried} large providers reached; results say smtp_unavailable`,
        }
  return { open: reached > 0, row, localAddresses }
}

async function testHelo(options: SelfTestOptions, ours: readonly string[]): Promise<EngineHealth> {
  const { resolver, heloName, signal } = options
  const name = 'smtp helo name'
  const found = await findAddresses(resolver, () => true, heloName, signal)
  if (found.kind === 'failed') {
    return { name, status: 'degraded', detail: `the DNS query for ${heloName} failed` }
  }
  if (found.kind !== 'addresses') {
    return {
      name,
      status: 'degraded',
      detail: `${heloName} does not resolve; servers may refuse it`,
    }
  }
  const fits = ours.length === 0 || ours.some((address) => found.addresses.includes(address))
  return fits
    ? { name, status: 'ok', detail: `${heloName} resolves` }
    : { name, status: 'degraded', detail: `${heloName} resolves to another address than ours` }
}

async function testReverse(options: SelfTestOptions, address: string): Promise<EngineHealth> {
  const { resolver, signal } = options
  const name = `reverse name of ${address}`
  const bytes = parseAddress(address)
  const answer =
    bytes === null ? null : await resolver.resolve(pointerName(bytes), 'PTR', { signal })
  if (answer?.kind === 'failed') {
    return { name, status: 'degraded', detail: 'the DNS query failed' }
  }
  const host = answer?.kind === 'records' ? answer.records[0] : undefined
  if (host === undefined)
    return { name, status: 'degraded', detail: 'no PTR record; large providers refuse' }
  const back = await findAddresses(resolver, () => true, host, signal)
  if (back.kind === 'failed') {
    return { name, status: 'degraded', detail: `the DNS query for ${host} failed` }
  }
  return back.kind === 'addresses' && back.addresses.includes(address)
    ? { name, status: 'ok', detail: `${host}, confirmed` }
    : { name, status: 'degraded', detail: `${host} does not resolve back to it` }
}

async function testSpf(options: SelfTestOptions, ours: readonly string[]): Promise<EngineHealth> {
  const { resolver, mailFrom, heloName, signal } = options
  const name = 'spf of the sender'
  const domain = mailFrom.slice(mailFrom.lastIndexOf('@') + 1)
  const answer = await resolver.resolve(domain, 'TXT', { signal })
  if (answer.kind === 'failed')
    return { name, status: 'degraded', detail: `the SPF record of ${domain} could not be read` }
  const records = answer.kind === 'records' ? answer.records : []
  if (!records.some(isSpfRecord)) {
    return { name, status: 'degraded', detail: `${domain} has no SPF record` }
  }
  const ip = ours[0]
  if (ip === undefined) return { name, status: 'ok', detail: `${domain} has an SPF record` }
  const result = await checkSpf(resolver, { sender: mailFrom, ip, helo: heloName }, signal)
  return result === 'pass'
    ? { name, status: 'ok', detail: `${domain} permits ${ip}` }
    : { name, status: 'degraded', detail: `SPF of ${domain}: ${result} for ${ip}` }
}

async function testBlocklist(
  options: SelfTestOptions,
  address: string,
  zone: string,
): Promise<EngineHealth> {
  const name = `blocklist ${zone}`
  const bytes = parseAddress(address)
  if (bytes === null) return { name, status: 'off', detail: 'no name for this address' }
  const asked = reversedName(bytes, zone)
  const answer = await options.resolver.resolve(asked, 'A', { signal: options.signal })
  if (answer.kind === 'failed') return { name, status: 'degraded', detail: 'did not reply' }
  const codes = answer.kind === 'records' ? answer.records : []
  if (codes.some(isListRefusal)) {
    return { name, status: 'degraded', detail: 'refuses queries from this resolver' }
  }
  return codes.some(isListed)
    ? { name, status: 'failed', detail: `${address} is listed (${codes.join(', ')})` }
    : { name, status: 'ok', detail: `${address} is not listed` }
}
