import { getServers } from 'node:dns'
import { hostname } from 'node:os'
import { join } from 'node:path'
import type { Engine } from '@plumbline/ports/engine'
import type { Check } from '@plumbline/contract/products'
import { createDomainEngine } from '@plumbline/domain/engine'
import { RDAP_LIST_FILE } from '@plumbline/datasets/rdap-list'
import { createEmailEngine } from '@plumbline/email/engine'
import type { EmailLimits } from '@plumbline/email/limits'
import { dnsListsIn } from '@plumbline/ip/dns-lists'
import { createIpEngine } from '@plumbline/ip/engine'
import { createEgress, type Egress } from '@plumbline/net/egress'
import { fetchBounded } from '@plumbline/net/http'
import { createResolver, type Resolver } from '@plumbline/net/resolver'
import { rootFault } from '@plumbline/net/root-fault'
import { createPhoneEngine } from '@plumbline/phone/engine'
import type { PurchaseCounter } from '@plumbline/phone/hlr-purchase'
import { readLimits } from '@plumbline/db/limits'
import type { Metrics } from '@plumbline/runtime/metrics'
import type { WorkerContext } from './context.ts'
import {
  followedDomainLists,
  followLists,
  loadDomainLists,
  loadEmailLists,
} from './followed-lists.ts'
import { publishMailDomains } from './publish-mail-domains.ts'
import { readHlrAccounts } from '@plumbline/phone/hlr/accounts'
import { listsDir, updatedListsDir, type WorkerSettings } from './settings.ts'

/** The engines of a worker, closed together. */
export interface OpenEngines extends AsyncDisposable {
  readonly all: readonly Engine<Check>[]
}

/** Milliseconds in which the resolver must prove that it knows the DNS root. */
const ROOT_MS = 10_000

/** Opens the engines of the checks that a worker serves, with one egress guard and one resolver. */
export async function openEngines(
  context: WorkerContext,
  checks: readonly Check[],
): Promise<OpenEngines> {
  const { settings, log } = context
  await using stack = new AsyncDisposableStack()
  const egress = createEgress({ allow: settings.EGRESS_ALLOW, log })
  const servers = settings.DNS_SERVERS ?? getServers()
  const resolver = createResolver({
    servers,
    egress,
    onRootChange: (server, knowsRoot) => logRootChange(server, knowsRoot, log),
  })
  // Not awaited: a slow resolver does not delay the start of a worker.
  if (checks.length > 0) void logRootFault(resolver, servers, log)
  const network = { egress, resolver }
  const all: Engine<Check>[] = []
  for (const check of checks) {
    all.push(stack.use(await openEngine(check, context, network, stack)))
  }
  const owned = stack.move()
  return { all, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

async function logRootFault(
  resolver: Resolver,
  servers: readonly string[],
  log: WorkerContext['log'],
): Promise<void> {
  const fault = await rootFault(resolver, AbortSignal.timeout(ROOT_MS))
  if (fault !== null) log.warn({ servers }, `the resolver ${fault}; the command "doctor" says more`)
}

function logRootChange(server: string, knowsRoot: boolean, log: WorkerContext['log']): void {
  if (knowsRoot) log.info({ server }, 'the resolver knows the root of the DNS again')
  else
    log.warn(
      { server },
      'the resolver no longer knows the root of the DNS: names that it denies count as unknown',
    )
}

interface Network {
  readonly egress: Egress
  readonly resolver: Resolver
}

async function openEngine(
  check: Check,
  context: WorkerContext,
  network: Network,
  stack: AsyncDisposableStack,
): Promise<Engine<Check>> {
  switch (check) {
    case 'email':
      return widened(await openEmail(context, network, stack))
    case 'phone':
      return widened(await openPhone(context, network))
    case 'ip':
      return widened(await openIp(context, network))
    case 'domain':
      return widened(await openDomain(context, network, stack))
  }
}

/** Safe because an engine only receives subjects of its own queue. */
function widened<C extends Check>(engine: Engine<C>): Engine<Check> {
  return engine as unknown as Engine<Check>
}

async function openEmail(
  { connections, settings, log }: WorkerContext,
  network: Network,
  stack: AsyncDisposableStack,
): Promise<Engine<'email'>> {
  const heloName = settings.SMTP_HELO_NAME ?? hostname()
  const lists = stack.use(await followLists(await listsDir(settings), loadEmailLists, log))
  stack.use(publishMailDomains(connections.db, lists.current, log))
  return createEmailEngine({
    ...network,
    memory: connections.memory,
    shareFindings: settings.SHARE_FINDINGS,
    limiter: connections.limiter,
    lists: lists.current,
    smtp: {
      port: settings.SMTP_PORT,
      heloName,
      mailFrom: settings.SMTP_MAIL_FROM ?? `verify@${heloName}`,
      ...(settings.SMTP_PROXY_URL === undefined ? {} : { proxyUrl: settings.SMTP_PROXY_URL }),
      sourceAddresses: settings.SMTP_SOURCE_ADDRESSES,
    },
    probing: settings.SMTP_PROBING ? 'smtp' : 'dns_only',
    probingOff: settings.SMTP_PROBING_OFF,
    selfTest: { dnsbl: settings.SMTP_DNS_LISTS },
    greylistScheduleSeconds: settings.GREYLIST_SCHEDULE_SECONDS,
    limits: emailLimits(settings),
    log,
  })
}

function emailLimits(settings: WorkerSettings): Partial<EmailLimits> {
  const { SMTP_CONNECTIONS_PER_HOST, SMTP_RECIPIENTS_PER_MINUTE } = settings
  return {
    recheckMs: settings.SMTP_SECOND_LOOK_SECONDS * 1000,
    ...(SMTP_CONNECTIONS_PER_HOST === undefined
      ? {}
      : { connectionsPerGroup: SMTP_CONNECTIONS_PER_HOST }),
    ...(SMTP_RECIPIENTS_PER_MINUTE === undefined
      ? {}
      : { recipientsPerMinute: SMTP_RECIPIENTS_PER_MINUTE }),
  }
}

async function openPhone(
  { connections, settings, log, metrics }: WorkerContext,
  network: Network,
): Promise<Engine<'phone'>> {
  return await createPhoneEngine({
    providers: readHlrAccounts({
      providers: settings.HLR_PROVIDER,
      urls: settings.HLR_URL,
      keys: settings.HLR_KEY,
      secrets: settings.HLR_SECRET,
    }),
    policy: {
      perSecond: settings.HLR_QUERIES_PER_SECOND,
      concurrency: settings.HLR_CONNECTIONS,
      dailyCap: settings.HLR_DAILY_CAP,
      accountDailyCap: settings.HLR_ACCOUNT_DAILY_CAP,
      cacheMs: settings.HLR_CACHE_HOURS * 3_600_000,
    },
    memory: connections.memory,
    shareFindings: settings.SHARE_FINDINGS,
    purchases: connections.durable,
    budget: connections.budget,
    accountCapOf: async (account) =>
      (await readLimits(connections.db, account)).hlr_numbers_per_day,
    limiter: connections.limiter,
    fetch: (request) => fetchBounded({ ...request, ...network }),
    onPurchase: createPurchaseCounter(metrics),
    log,
  })
}

function createPurchaseCounter(metrics: Metrics): PurchaseCounter {
  const purchases = metrics.counter(
    'purchases_total',
    'Subjects that a provider was paid for, or may have been, once for each purchase.',
    ['check', 'provider'],
  )
  return (provider, count) => purchases.inc({ check: 'phone', provider }, count)
}

async function openIp(
  { settings, log }: WorkerContext,
  { resolver }: Network,
): Promise<Engine<'ip'>> {
  const zones = settings.IP_DNS_LISTS
  return await createIpEngine({
    cityDb: settings.IP_CITY_DB,
    asnDb: settings.IP_ASN_DB,
    listsDir: await listsDir(settings),
    ...(zones.length === 0 ? {} : { dnsLists: { ...dnsListsIn(zones), resolver } }),
    log,
  })
}

async function openDomain(
  { connections, settings, log }: WorkerContext,
  network: Network,
  stack: AsyncDisposableStack,
): Promise<Engine<'domain'>> {
  const lists = stack.use(await followLists(await listsDir(settings), loadDomainLists, log))
  return createDomainEngine({
    ...network,
    memory: connections.memory,
    shareFindings: settings.SHARE_FINDINGS,
    limiter: connections.limiter,
    ...followedDomainLists(lists),
    rdapBootstrapUrl: settings.RDAP_BOOTSTRAP_URL,
    rdapListFile: join(updatedListsDir(settings), RDAP_LIST_FILE),
    whoisServer: settings.WHOIS_SERVER,
    whoisPort: settings.WHOIS_PORT,
    nameServerPort: settings.NAME_SERVER_PORT,
    registryPerSecond: settings.REGISTRY_QUERIES_PER_SECOND,
    readPages: settings.PARKED_PAGES,
    log,
  })
}
