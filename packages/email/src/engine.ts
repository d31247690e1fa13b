import type { Log } from '@plumbline/ports/log'
import { randomBytes } from 'node:crypto'
import type { Engine, EngineHealth } from '@plumbline/ports/engine'
import type { Limiter } from '@plumbline/ports/limiter'
import type { Memory } from '@plumbline/ports/memory'
import type { Egress } from '@plumbline/net/egress'
import type { Resolver } from '@plumbline/net/resolver'
import type { RunTools } from './answer-subject.ts'
import { createUniformRejection } from './uniform-rejection.ts'
import type { UniformRejection } from './uniform-rejection.ts'
import { createConnector } from './connect.ts'
import type { ProxyTarget } from './connect.ts'
import type { VerifyTools } from './verify-recipients.ts'
import { createDomainCache } from './domain-cache.ts'
import type { EmailLists } from './domain-cache.ts'
import { createInFlightProbes } from './in-flight-probes.ts'
import { createDictionaryAttackGuard } from './dictionary-attack-guard.ts'
import { createProbeCache } from './probe-cache.ts'
import type { ProbeCache } from './probe-cache.ts'
import { DEFAULT_LIMITS } from './limits.ts'
import type { EmailLimits } from './limits.ts'
import { registrableDomain } from './mx.ts'
import { outgoingAddresses } from './outgoing-addresses.ts'
import { ORDINARY_PROVIDER } from './providers.ts'
import type { Destination } from './provider-group.ts'
import { runRequest } from './run-request.ts'
import { createConnectionPool } from './connection-pool.ts'
import type { PoolOptions } from './connection-pool.ts'
import { SELF_TEST_TARGETS, runSelfTest } from './self-test.ts'
import type { SelfTest } from './self-test.ts'
import { DEFAULT_TIMES } from './smtp-session.ts'
import type { SessionTimes } from './smtp-session.ts'
import { parseMailbox } from './syntax.ts'
import type { Sharing } from '@plumbline/ports/sharing'
import { createPort25Health } from './port-25-health.ts'
import { createOutageWatch } from './outage.ts'

/** Dependencies and settings of the email engine. */
export interface EmailEngineOptions extends Sharing {
  readonly resolver: Resolver
  readonly egress: Egress
  readonly memory: Memory
  readonly limiter: Limiter
  /** Reference lists, or a function that returns the newest ones. */
  readonly lists: EmailLists | (() => EmailLists)
  readonly smtp: {
    readonly port: number
    /** A host name that resolves to our address, which resolves back to it. */
    readonly heloName: string
    /** The fixed envelope sender; its domain should be ours. */
    readonly mailFrom: string
    /** `socks5://user:password@address:port`; the host must be an address literal. */
    readonly proxyUrl?: string
    readonly sourceAddresses?: readonly string[]
  }
  /** `dns_only` never connects to a mail host. */
  readonly probing: 'smtp' | 'dns_only'
  /** Provider ids or registrable domains of mail hosts that are never probed. */
  readonly probingOff?: readonly string[]
  /** Delays before the retries after a temporary refusal. */
  readonly greylistScheduleSeconds: readonly number[]
  readonly limits?: Partial<EmailLimits>
  readonly times?: Partial<SessionTimes>
  /** The hourly self-test of port 25 and of our host names; false disables it. */
  readonly selfTest?:
    | false
    | { readonly targets?: readonly string[]; readonly dnsbl?: readonly string[] }
  /**
   * Milliseconds since the Unix epoch. Default: the system's, which may be set back; what only this
   * process times then goes by a monotonic one.
   */
  readonly clock?: () => number
  /** 0 up to 1, for choices that need no secrecy. */
  readonly random?: () => number
  readonly log: Log
}

/**
 * Makes the email engine. Throws where the sender, the HELO name, an address or the proxy is
 * malformed.
 */
export function createEmailEngine(options: EmailEngineOptions): Engine<'email'> {
  assertSender(options.smtp)
  const now = options.clock ?? Date.now
  const elapsed = options.clock ?? (() => performance.now())
  const limits: EmailLimits = { ...DEFAULT_LIMITS, ...options.limits }
  const stop = new AbortController()
  const warn = (error: unknown): void =>
    options.log.warn({ err: error }, 'email engine: a shared store failed')
  const port25 = createPort25Health(selfTestOf(options, stop.signal), elapsed)
  const cache = createProbeCache(options.memory, now, warn)
  const { lists } = options
  const domains = createDomainCache({
    resolver: options.resolver,
    lists: typeof lists === 'function' ? lists : () => lists,
    sourceAddresses: outgoingAddresses(options.smtp.sourceAddresses ?? []),
    random: options.random ?? Math.random,
    now: elapsed,
  })
  const pool = createConnectionPool({
    limits,
    limiter: options.limiter,
    memory: options.memory,
    now: elapsed,
    clock: now,
    warn,
    reached: port25.reached,
    destination: domains.destination,
    isOff: (to) => isOff(options, to),
    customerOf: ({ name, provider }, domain, isVague) => {
      const customer = registrableDomain(domain)
      const isOwn = customer === name || domains.lists.free.exact(domain)
      return isOwn || (provider.id === ORDINARY_PROVIDER.id && !isVague) ? null : customer
    },
    verify: verifyTools(options, cache, createUniformRejection(elapsed)),
    connect: connectorOf(options, stop.signal, elapsed),
  })
  const tools: RunTools = {
    resolver: options.resolver,
    egress: options.egress,
    domains,
    cache,
    inFlight: createInFlightProbes(elapsed),
    pool,
    dictionary: createDictionaryAttackGuard(limits, options.memory, now, warn),
    port25,
    outage: createOutageWatch({ resolver: options.resolver, port25, now: elapsed }),
    limits,
    isOff: (to) => isOff(options, to),
    scheduleSeconds: options.greylistScheduleSeconds,
    shareFindings: options.shareFindings ?? true,
    now,
  }
  return {
    check: 'email',
    run: (request) => runRequest(tools, request),
    health: async () => [probingHealth(options.probing, pool.broken()), ...(await port25.health())],
    async [Symbol.asyncDispose]() {
      stop.abort()
      port25.close()
      await pool[Symbol.asyncDispose]()
      await cache.flush()
    },
  }
}

function isOff(
  { probing, probingOff = [] }: EmailEngineOptions,
  { provider, group }: Destination,
): boolean {
  return probing === 'dns_only' || probingOff.includes(provider.id) || probingOff.includes(group)
}

function assertSender(smtp: EmailEngineOptions['smtp']): void {
  if (!parseMailbox(smtp.mailFrom).ok) {
    throw new Error(`mail from: expected a mailbox, got ${smtp.mailFrom}`)
  }
  if (!/^[A-Za-z0-9.[\]:-]{1,253}$/.test(smtp.heloName)) {
    throw new Error(`helo name: expected a host name, got ${smtp.heloName}`)
  }
}

function verifyTools(
  options: EmailEngineOptions,
  cache: ProbeCache,
  uniform: UniformRejection,
): VerifyTools {
  const { smtp, log } = options
  const sender = smtp.mailFrom.slice(smtp.mailFrom.lastIndexOf('@') + 1).toLowerCase()
  return {
    cache,
    uniform,
    acceptAllProbes: new Map(),
    sender: smtp.mailFrom,
    // A very short name would also match within other words.
    own: [smtp.heloName, ...(smtp.sourceAddresses ?? []), `@${sender}`].filter(
      (name) => name.length > 6,
    ),
    randomLocal,
    failed: (error) => log.error({ err: error }, 'email engine: results could not be settled'),
    unclassified(provider, reply) {
      const fields = { provider, code: reply.code, enhanced: reply.enhanced }
      log.info(fields, 'a reply matches no rule')
    },
  }
}

function connectorOf(
  options: EmailEngineOptions,
  signal: AbortSignal,
  now: () => number,
): PoolOptions['connect'] {
  const { smtp } = options
  return createConnector({
    egress: options.egress,
    resolver: options.resolver,
    port: smtp.port,
    heloName: smtp.heloName,
    times: { ...DEFAULT_TIMES, ...options.times },
    proxy: smtp.proxyUrl === undefined ? null : proxyOf(smtp.proxyUrl),
    signal,
    now,
  })
}

/**
 * The self-test with its settings; null if it is disabled, or would not go through the proxy as
 * probes do.
 */
function selfTestOf(
  options: EmailEngineOptions,
  signal: AbortSignal,
): (() => Promise<SelfTest>) | null {
  const { selfTest, smtp } = options
  if (selfTest === false || options.probing === 'dns_only' || smtp.proxyUrl !== undefined)
    return null
  return () =>
    runSelfTest({
      egress: options.egress,
      resolver: options.resolver,
      port: smtp.port,
      heloName: smtp.heloName,
      mailFrom: smtp.mailFrom,
      sourceAddresses: smtp.sourceAddresses ?? [],
      dnsbl: selfTest?.dnsbl ?? [],
      targets: selfTest?.targets ?? SELF_TEST_TARGETS,
      timeoutMs: 5_000,
      signal,
    })
}

function probingHealth(probing: 'smtp' | 'dns_only', broken: readonly string[]): EngineHealth {
  const name = 'smtp probing'
  if (probing === 'dns_only') return { name, status: 'off', detail: 'only names are looked up' }
  if (broken.length === 0) return { name, status: 'ok', detail: 'no provider refuses us' }
  // The host of a single domain is not named: its name would reveal the subject.
  const others = broken.filter((id) => id === ORDINARY_PROVIDER.id).length
  const known = [...new Set(broken)].filter((id) => id !== ORDINARY_PROVIDER.id).slice(0, 10)
  const hosts = others === 0 ? [] : [`${others} mail ${others === 1 ? 'host' : 'hosts'} of others`]
  return { name, status: 'degraded', detail: `refused by ${[...known, ...hosts].join(', ')}` }
}

/** A random local part that no mailbox has: twenty characters, beginning with a letter. */
function randomLocal(): string {
  const alphabet = 'abcdefghijklmnopqrstuvwxyz0123456789'
  const bytes = randomBytes(20)
  let local = alphabet[(bytes[0] ?? 0) % 26] ?? 'x'
  for (const byte of bytes.subarray(1)) local += alphabet[byte % 36] ?? 'x'
  return local
}

function proxyOf(text: string): ProxyTarget {
  const url = URL.canParse(text) ? new URL(text) : null
  const address = url?.hostname.replace(/^\[|\]$/g, '') ?? ''
  if (url === null || !/^socks5h?:$/.test(url.protocol) || !/^[\d.]+$|:/.test(address)) {
    throw new Error('proxy: expected socks5://user:password@address:port with an address literal')
  }
  return {
    address,
    port: url.port === '' ? 1080 : Number(url.port),
    ...(url.username === '' ? {} : { username: decodeURIComponent(url.username) }),
    ...(url.password === '' ? {} : { password: decodeURIComponent(url.password) }),
  }
}
