import type { Log } from '@plumbline/ports/log'
import type { Engine, EngineRequest, Answer } from '@plumbline/ports/engine'
import type { Outcome } from '@plumbline/contract/outcome'
import { type IpDataOptions, type IpDataStore, loadIpData } from './data.ts'
import { resolverFor, type Resolver } from '@plumbline/net/resolver'
import { parseAddress } from '@plumbline/net/address-bytes'
import {
  askDnsLists,
  type DnsListResults,
  type DnsListSettings,
  NO_DNS_LISTS,
} from './dns-lists.ts'
import { type IpLookup, lookupIp } from './lookup.ts'

/** Settings and dependencies of the IP engine. */
export interface IpEngineOptions extends IpDataOptions {
  readonly log: Log
  /** Lists to query over DNS; absent: none. */
  readonly dnsLists?: DnsListSettings & { readonly resolver: Resolver }
  /** Milliseconds between two checks of the files for changes; 0: never. */
  readonly refreshMs?: number
}

/** Default milliseconds between two checks of the files. */
const REFRESH_MS = 30_000

/** Lookups between two turns of the event loop: about 2 ms of work. */
const LOOKUPS_A_TURN = 500

/**
 * The engine of IP checks: loads its data, then answers from memory.
 *
 * @throws if configured data cannot be read
 */
export async function createIpEngine(options: IpEngineOptions): Promise<Engine<'ip'>> {
  const store = await loadIpData(options)
  const said = new Set<string>()
  const report = (): void => {
    for (const { name, status, detail } of store.health()) {
      if (said.has(`${name}: ${detail}`)) continue
      said.add(`${name}: ${detail}`)
      // `name` is the program's in a line of the log.
      options.log.warn({ data: name, status }, detail)
    }
  }
  report()
  const refreshMs = options.refreshMs ?? REFRESH_MS
  const stop = every(refreshMs, async () => {
    await store.refresh()
    report()
  })
  return {
    check: 'ip',
    run: (request) =>
      options.dnsLists === undefined
        ? run(request, (text) => lookupIp(store.current, text))
        : runOverDns(request, options.dnsLists, store),
    health: async () => store.health(),
    async [Symbol.asyncDispose]() {
      await stop()
    },
  }
}

async function run(
  request: EngineRequest<'ip'>,
  lookup: (text: string) => IpLookup,
): Promise<readonly Answer<'ip'>[]> {
  const answers: Outcome<'ip'>[] = []
  let checkedAt = new Date().toISOString()
  for (const [index, subject] of request.subjects.entries()) {
    if (index % LOOKUPS_A_TURN === LOOKUPS_A_TURN - 1) {
      await new Promise(setImmediate)
      checkedAt = new Date().toISOString()
    }
    const answer = request.signal.aborted ? timedOut(subject) : located(lookup(subject), checkedAt)
    answers.push(answer)
    request.answered?.(index, answer)
  }
  return answers
}

/** Addresses queried over DNS concurrently. */
const DNS_AT_ONCE = 64

async function runOverDns(
  request: EngineRequest<'ip'>,
  lists: DnsListSettings & { readonly resolver: Resolver },
  store: IpDataStore,
): Promise<readonly Answer<'ip'>[]> {
  const answers: Outcome<'ip'>[] = []
  const open = [...request.subjects.entries()]
  const work = async (): Promise<void> => {
    for (let next = open.shift(); next !== undefined; next = open.shift()) {
      const [index, subject] = next
      const found = await findings(request, lists, store, subject)
      const answer = request.signal.aborted
        ? timedOut(subject)
        : located(lookupIp(store.current, subject, found), new Date().toISOString())
      answers[index] = answer
      request.answered?.(index, answer)
    }
  }
  await Promise.all(Array.from({ length: DNS_AT_ONCE }, work))
  return answers
}

async function findings(
  request: EngineRequest<'ip'>,
  lists: DnsListSettings & { readonly resolver: Resolver },
  { current }: IpDataStore,
  subject: string,
): Promise<DnsListResults> {
  const address = parseAddress(subject)
  if (address === null || request.signal.aborted) return NO_DNS_LISTS
  const { reachable, judged } = current.judge(address)
  // Addresses on the allow-list are not revealed to others.
  if (!reachable || current.lists.allow.has(judged)) return NO_DNS_LISTS
  return askDnsLists(resolverFor(lists.resolver, request), lists, judged, request.signal)
}

function located({ reason, facts, evidence }: IpLookup, checkedAt: string): Outcome<'ip'> {
  return {
    kind: 'outcome',
    status: reason === 'no_data' ? 'unknown' : 'answered',
    reason,
    facts,
    evidence,
    cached: false,
    checkedAt,
    // A lookup takes microseconds.
    durationMs: 0,
  }
}

function timedOut(subject: string): Outcome<'ip'> {
  return {
    kind: 'outcome',
    status: 'unknown',
    reason: 'timeout',
    facts: {
      ip: subject,
      valid: false,
      country: null,
      countryCode: null,
      region: null,
      city: null,
      latitude: null,
      longitude: null,
      timezone: null,
      isp: null,
      asn: null,
      isVpn: null,
      isProxy: null,
      isTor: null,
      isDatacenter: null,
      isRelay: null,
      signals: [],
    },
    evidence: {},
    cached: false,
    checkedAt: new Date().toISOString(),
    durationMs: 0,
  }
}

/**
 * Repeats work with delays in between, never concurrently; the returned function stops it and waits
 * for the last run.
 */
function every(pauseMs: number, work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> = Promise.resolve()
  let timer: NodeJS.Timeout | undefined
  let stopped = pauseMs === 0
  const arm = (): void => {
    if (stopped) return
    timer = setTimeout(() => {
      running = work().finally(arm)
    }, pauseMs)
    timer.unref()
  }
  arm()
  return async () => {
    stopped = true
    clearTimeout(timer)
    await running
  }
}
