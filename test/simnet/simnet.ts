import { generateKeyPairSync } from 'node:crypto'
import { createCounters } from './counters.ts'
import type { Counters } from './counters.ts'
import { startDns } from './dns/server.ts'
import { startFeeds } from './feeds.ts'
import { HLR_KEY, HLR_SECRET } from './hlr/protocol.ts'
import { startHlr } from './hlr/server.ts'
import type { HlrFaults } from './hlr/server.ts'
import { startRdap } from './registry/rdap.ts'
import { startWhois } from './registry/whois.ts'
import { startSmtp } from './smtp/server.ts'
import { makeWorld, PROBER } from './world.ts'
import type { World, WorldOptions } from './world.ts'

/** A simulated internet on loopback. */
export interface Simnet extends AsyncDisposable {
  /** Environment variables with which the service uses these servers. */
  readonly settings: Readonly<Record<string, string>>
  readonly world: World
  readonly counters: Counters
}

/** Options of a simulated internet: its world, and the ports. */
export interface SimnetOptions extends Omit<WorldOptions, 'seed'> {
  readonly seed?: number
  /** An existing world, in place of the options of a world. */
  readonly world?: World
  /** Port of each kind of server; absent or 0: a free port. */
  readonly ports?: {
    readonly dns?: number
    readonly smtp?: number
    readonly rdap?: number
    readonly whois?: number
    readonly hlr?: number
    readonly feeds?: number
  }
  /** Simulated round-trip time to every mail host, in ms; default 0. */
  readonly rttMs?: number
  /** The HLR provider in `settings`; default `hlr-lookups`. All providers are started. */
  readonly hlrProvider?:
    | 'hlr-lookups'
    | 'infobip'
    | 'twilio'
    | 'vonage'
    | 'vonage-identity'
    | 'messente'
  readonly hlrFaults?: HlrFaults
  /** Whether RCPT commands are also counted for each recipient; default false. */
  readonly countsRecipients?: boolean
}

/** Starts every server of a world on addresses of 127.0.0.0/8; throws if an address or port is in use. */
export async function startSimnet(options: SimnetOptions): Promise<Simnet> {
  const world =
    options.world ??
    makeWorld({ nameServerBlock: process.pid % 256, ...options, seed: options.seed ?? 1 })
  const counters = createCounters(options.countsRecipients === true)
  const ports = options.ports ?? {}
  await using started = new AsyncDisposableStack()
  const dns = started.use(await startDns(world, counters, ports.dns ?? 0))
  const smtp = started.use(
    await startSmtp(world, counters, { port: ports.smtp ?? 0, rttMs: options.rttMs ?? 0 }),
  )
  const rdap = started.use(await startRdap(world, counters, ports.rdap ?? 0))
  const whois = started.use(await startWhois(world, counters, ports.whois ?? 0))
  const provider = options.hlrProvider ?? 'hlr-lookups'
  const pair =
    provider === 'vonage-identity' ? generateKeyPairSync('rsa', { modulusLength: 2048 }) : undefined
  const hlr = started.use(
    await startHlr(world, counters, ports.hlr ?? 0, options.hlrFaults ?? {}, pair?.publicKey),
  )
  const feeds = started.use(await startFeeds(world, ports.feeds ?? 0))
  const running = started.move()
  return {
    settings: {
      DNS_SERVERS: `127.0.0.1:${dns.port}`,
      NAME_SERVER_PORT: String(dns.port),
      SMTP_PORT: String(smtp.port),
      SMTP_HELO_NAME: PROBER,
      SMTP_MAIL_FROM: `probe@${PROBER}`,
      RDAP_BOOTSTRAP_URL: `http://data.iana.org:${rdap.port}/rdap/dns.json`,
      WHOIS_SERVER: 'whois.iana.org',
      WHOIS_PORT: String(whois.port),
      HLR_PROVIDER: provider,
      // Purchases from simulated providers cost nothing.
      HLR_DAILY_CAP: '1000000',
      HLR_ACCOUNT_DAILY_CAP: '1000000',
      HLR_URL: `http://127.0.0.1:${hlr.port}${provider === 'hlr-lookups' ? '/api/v2' : ''}`,
      HLR_KEY,
      HLR_SECRET:
        pair?.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() ?? HLR_SECRET,
      LISTS_MIRROR_URL: `http://127.0.0.1:${feeds.port}/feeds/`,
      EGRESS_ALLOW: '127.0.0.0/8',
      GREYLIST_SCHEDULE_SECONDS: '2,3,5',
      SMTP_SECOND_LOOK_SECONDS: '2',
    },
    world,
    counters,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}
