import { randomBytes } from 'node:crypto'
import { getDomain } from 'tldts'
import type {
  Engine,
  EngineHealth,
  EngineRequest,
  Limiter,
  Memory,
} from '@plumbline/contract/engine'
import type { Egress } from '../net/egress.ts'
import type { Resolver } from '../net/resolver.ts'
import type { NameList } from '../lists/names.ts'
import { createBlanketGuard } from './blanket.ts'
import { createDialler } from './dial.ts'
import type { ProxyTarget } from './dial.ts'
import { createDictionaryGuard } from './guard.ts'
import { createKnowledge } from './knowledge.ts'
import { DEFAULT_LIMITS } from './limits.ts'
import type { EmailLimits } from './limits.ts'
import { parseMailbox } from './syntax.ts'
import { createRunner } from './run.ts'
import { createScheduler } from './scheduler.ts'
import { SELF_TEST_TARGETS, runSelfTest } from './selftest.ts'
import type { SelfTest } from './selftest.ts'
import { DEFAULT_TIMES } from './session.ts'
import type { SessionTimes } from './session.ts'
import { compileTraps } from './traps.ts'

/** The part of a logger that the engine uses; no subject is ever logged in clear. */
export interface EmailLog {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** Counters that the operator sees. */
export interface EmailMetrics {
  verdict(provider: string, status: string, reason: string): void
  unclassified(provider: string, code: number): void
}

/** The lists by which addresses are flagged. */
export interface EmailLists {
  readonly disposable: NameList
  readonly disposableAllow: NameList
  readonly privacyRelay: NameList
  readonly free: NameList
  readonly role: NameList
  readonly spamTrap: NameList
  readonly optOut: NameList
}

/** Everything the engine works with. */
export interface EmailEngineOptions {
  readonly resolver: Resolver
  readonly egress: Egress
  readonly memory: Memory
  readonly limiter: Limiter
  /** Lists, or a function that gives the newest ones. */
  readonly lists: EmailLists | (() => EmailLists)
  readonly smtp: {
    readonly port: number
    /** A name that resolves to our address and back. */
    readonly heloName: string
    /** The fixed envelope sender; its domain should be ours. */
    readonly mailFrom: string
    /** `socks5://user:password@address:port`; the host must be an address literal. */
    readonly proxyUrl?: string
    readonly sourceAddresses?: readonly string[]
  }
  /** `dns_only` never connects to a mail host. */
  readonly probing: 'smtp' | 'dns_only'
  /** Provider ids or registrable domains of mail hosts that are never connected to. */
  readonly probingOff?: readonly string[]
  /** Waits after a temporary refusal; one retry for each. */
  readonly greylistScheduleSeconds: readonly number[]
  readonly limits?: Partial<EmailLimits>
  readonly times?: Partial<SessionTimes>
  /** The hourly test of the way out; false switches it off. */
  readonly selfTest?:
    | false
    | { readonly targets?: readonly string[]; readonly dnsbl?: readonly string[] }
  /** Milliseconds since the epoch. */
  readonly clock?: () => number
  /** 0 up to 1, for choices that need no secrecy. */
  readonly random?: () => number
  readonly log: EmailLog
  readonly metrics?: EmailMetrics
}

const HOUR_MS = 3_600_000

/** Makes the email engine. Throws where the sender, the HELO name or the proxy is malformed. */
export function createEmailEngine(options: EmailEngineOptions): Engine<'email'> {
  const now = options.clock ?? Date.now
  const random = options.random ?? Math.random
  const limits: EmailLimits = { ...DEFAULT_LIMITS, ...options.limits }
  const { smtp, log } = options
  if (!parseMailbox(smtp.mailFrom).ok)
    throw new Error(`mail from: expected a mailbox, met ${smtp.mailFrom}`)
  if (!/^[A-Za-z0-9.[\]:-]{1,253}$/.test(smtp.heloName)) {
    throw new Error(`helo name: expected a host name, met ${smtp.heloName}`)
  }
  const warn = (error: unknown): void =>
    log.warn({ err: error }, 'email engine: a shared store failed')
  const stop = new AbortController()
  const way = createWayOut(options, stop.signal, now)
  const knowledge = createKnowledge(options.memory, now, warn)
  const scheduler = createScheduler({
    limits,
    limiter: options.limiter,
    memory: options.memory,
    now,
    warn,
    reached: way.reached,
    tools: {
      knowledge,
      blanket: createBlanketGuard(now),
      inventions: new Map(),
      sender: smtp.mailFrom,
      own: [smtp.heloName, ...(smtp.sourceAddresses ?? [])].filter((name) => name.length > 6),
      inventLocal,
      unclassified(provider, reply) {
        options.metrics?.unclassified(provider, reply.code)
        const fields = { provider, code: reply.code, enhanced: reply.enhanced }
        log.info(fields, 'a reply that no rule knows')
      },
    },
    reach: createDialler({
      egress: options.egress,
      resolver: options.resolver,
      port: smtp.port,
      heloName: smtp.heloName,
      times: { ...DEFAULT_TIMES, ...options.times },
      proxy: smtp.proxyUrl === undefined ? null : proxyOf(smtp.proxyUrl),
      signal: stop.signal,
      now,
    }),
  })
  const { lists } = options
  const runner = createRunner({
    ...options,
    lists: typeof lists === 'function' ? lists : () => lists,
    limits,
    knowledge,
    scheduler,
    dictionary: createDictionaryGuard(limits, options.memory, now, warn),
    way,
    now,
    random,
    compileTraps,
    groupOf,
  })
  return {
    check: 'email',
    run: (request: EngineRequest<'email'>) => runner.run(request),
    async health(): Promise<readonly EngineHealth[]> {
      const broken = scheduler.broken()
      const probing: EngineHealth =
        options.probing === 'dns_only'
          ? { name: 'smtp probing', status: 'off', detail: 'only names are looked up' }
          : broken.length === 0
            ? { name: 'smtp probing', status: 'ok', detail: 'no provider refuses us' }
            : {
                name: 'smtp probing',
                status: 'degraded',
                detail: `refused by ${broken.slice(0, 10).join(', ')}`,
              }
      return [probing, ...(await way.health())]
    },
    async [Symbol.asyncDispose]() {
      stop.abort()
      way.close()
      await scheduler[Symbol.asyncDispose]()
      await knowledge.flush()
    },
  }
}

/** What is known of our own way to mail hosts. */
export interface WayOut {
  /** Whether no mail host can be reached: then nothing is said of those that were not. */
  isShut(): boolean
  reached(ok: boolean): void
  health(): Promise<readonly EngineHealth[]>
  close(): void
}

/** Connections that must fail, with none made, before the self-test's word is taken. */
const FAILURES_TO_DOUBT = 1

function createWayOut(options: EmailEngineOptions, signal: AbortSignal, now: () => number): WayOut {
  const { selfTest, smtp } = options
  let last: { readonly test: Promise<SelfTest>; readonly atMs: number } | null = null
  let isOpen: boolean | null = null
  let lastReachedMs = Number.NEGATIVE_INFINITY
  let failures = 0
  const test = (): Promise<SelfTest> => {
    if (last !== null && now() - last.atMs < HOUR_MS) return last.test
    const settings = selfTest === false || selfTest === undefined ? {} : selfTest
    const running = runSelfTest({
      egress: options.egress,
      resolver: options.resolver,
      port: smtp.port,
      heloName: smtp.heloName,
      mailFrom: smtp.mailFrom,
      sourceAddresses: smtp.sourceAddresses ?? [],
      dnsbl: settings.dnsbl ?? [],
      targets: settings.targets ?? SELF_TEST_TARGETS,
      timeoutMs: 5_000,
      signal,
    }).then((result) => {
      isOpen = result.portOpen
      return result
    })
    last = { test: running, atMs: now() }
    return running
  }
  const isOff = selfTest === false || options.probing === 'dns_only' || smtp.proxyUrl !== undefined
  const again = (): void => void test().catch(() => undefined)
  const timer = isOff ? null : setInterval(again, HOUR_MS).unref()
  if (!isOff) again()
  return {
    isShut: () =>
      isOpen === false && failures >= FAILURES_TO_DOUBT && now() - lastReachedMs > HOUR_MS,
    reached(ok) {
      if (ok) {
        lastReachedMs = now()
        failures = 0
      } else failures++
    },
    async health() {
      return isOff ? [] : (await test()).health
    },
    close() {
      if (timer !== null) clearInterval(timer)
    },
  }
}

/** Twenty characters that nobody is called by, a letter first. */
function inventLocal(): string {
  const alphabet = 'abcdefghijklmnopqrstuvwxyz0123456789'
  const bytes = randomBytes(20)
  let local = alphabet[(bytes[0] ?? 0) % 26] ?? 'x'
  for (const byte of bytes.subarray(1)) local += alphabet[byte % 36] ?? 'x'
  return local
}

/** The group of a mail host of no known provider: its registrable domain. */
function groupOf(host: string): string {
  return getDomain(host, { allowPrivateDomains: true, validateHostname: false }) ?? host
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
