import type { Answer } from '@plumbline/ports/engine'
import type { World } from '../simnet/world.ts'
import { runBareClient } from './bare-smtp-client.ts'
import { memory } from './email-memory.ts'
import { runDeepEmailValidator } from './deep-email-validator.ts'
import { CONNECTIONS, addressAt, askAll, openBench } from './email-bench.ts'
import { atLeast } from './figure.ts'
import type { Figure } from './figure.ts'

const DOMAINS = 200
const PER_DOMAIN = 100
/**
 * deep-email-validator gets a part of the addresses: at its speed all of them would take minutes.
 */
const LIBRARY_PER_DOMAIN = 10
/** Recipients per session of the bare client. */
const BARE_RECIPIENTS = 10

/** Kinds of server whose results are compared. */
const PROFILES = [
  'no-tls',
  'exim',
  'exchange',
  'no-pipelining',
  'accept-all',
  'blocked-rcpt',
  'blocked-mail',
  'helo-only',
  'blanket-reject',
  'slow',
] as const

/** The email engine compared with deep-email-validator and with a bare SMTP client; its memory. */
export async function run(): Promise<readonly Figure[]> {
  return [...(await overTheWire()), await perProfile(), await withoutDelay(), ...(await memory())]
}

/** (a) Addresses a second with a round-trip time of 50 ms and the same number of connections. */
async function overTheWire(): Promise<readonly Figure[]> {
  await using bench = await openBench({
    rttMs: 50,
    bulkDomains: { count: DOMAINS, kinds: ['no-tls'] },
  })
  const subjects = addressesOf(DOMAINS, PER_DOMAIN)
  await using engine = bench.engine()
  const ours = await timed(() => askAll(engine, subjects))
  const few = addressesOf(DOMAINS, LIBRARY_PER_DOMAIN)
  const library = await runDeepEmailValidator(bench.resolver, few, CONNECTIONS)
  const head = { backend: 'simnet, 50 ms', unit: 'addresses/s' }
  const libraryRate = (few.length / library.ms) * 1000
  return [
    atLeast(
      { ...head, name: 'email: round-trip time 50 ms' },
      (subjects.length / ours.ms) * 1000,
      libraryRate,
      10,
    ),
    atLeast(
      { ...head, name: 'email: accuracy, round-trip time 50 ms', unit: '% right' },
      share(subjects, (at) => isRight(bench.world, subjects[at] ?? '', ours.value[at])),
      share(few, (at) => isLibraryRight(bench.world, few[at] ?? '', library.valid[at] === true)),
      1,
    ),
  ]
}

/** (a) The accuracy for the kind of server for which our lead is smallest. */
async function perProfile(): Promise<Figure> {
  const count = PROFILES.length
  await using bench = await openBench({ bulkDomains: { count, kinds: PROFILES } })
  await using engine = bench.engine()
  const subjects = addressesOf(count, 60)
  const ours = await askAll(engine, subjects)
  const library = await runDeepEmailValidator(bench.resolver, subjects, CONNECTIONS)
  let worst = { name: '', ours: 1, library: 0 }
  PROFILES.forEach((name, kind) => {
    const own = subjects.flatMap((address, at) => (at % count === kind ? [{ address, at }] : []))
    const of = (right: (each: { address: string; at: number }) => boolean): number =>
      (own.filter(right).length / own.length) * 100
    const profileResult = {
      name,
      ours: of(({ address, at }) => isRight(bench.world, address, ours[at])),
      library: of(({ address, at }) =>
        isLibraryRight(bench.world, address, library.valid[at] === true),
      ),
    }
    if (
      worst.name === '' ||
      profileResult.ours - profileResult.library < worst.ours - worst.library
    )
      worst = profileResult
  })
  const head = {
    name: `email: accuracy, kind of server with the smallest lead (${worst.name})`,
    backend: 'simnet',
    unit: '% right',
  }
  return atLeast(head, worst.ours, Math.max(worst.library, 0.01), 1)
}

/**
 * (b) Recipients a second without network delay, compared with the bare SMTP client.
 */
async function withoutDelay(): Promise<Figure> {
  await using bench = await openBench({ bulkDomains: { count: DOMAINS, kinds: ['no-tls'] } })
  const subjects = addressesOf(DOMAINS, PER_DOMAIN)
  const work = Array.from({ length: (DOMAINS * PER_DOMAIN) / BARE_RECIPIENTS }, (_, n) => {
    const domain = n % DOMAINS
    const first = Math.floor(n / DOMAINS) * BARE_RECIPIENTS
    const at = (place: number): string => addressAt((first + place) * DOMAINS + domain, DOMAINS)
    return {
      address: bench.world.addressOf(`mx.d${domain}.example`) ?? '',
      recipients: Array.from({ length: BARE_RECIPIENTS }, (_each, place) => at(place)),
    }
  })
  const bareMs: number[] = []
  const oursMs: number[] = []
  // Measured alternately, and the best of each taken, so that other load affects both.
  for (let round = 0; round < 6; round++) {
    bareMs.push(await runBareClient(work, bench.port, CONNECTIONS))
    await using engine = bench.engine({ limits: { connectionsPerGroup: 1 } })
    oursMs.push((await timed(() => askAll(engine, subjects))).ms)
  }
  const rate = (ms: readonly number[]): number => (subjects.length / Math.min(...ms)) * 1000
  return atLeast(
    { name: 'email: recipients', backend: 'simnet', unit: 'recipients/s' },
    rate(oursMs),
    rate(bareMs),
    0.6,
  )
}

function addressesOf(domains: number, perDomain: number): readonly string[] {
  return Array.from({ length: domains * perDomain }, (_, n) => addressAt(n, domains))
}

async function timed<T>(
  ask: () => Promise<T>,
): Promise<{ readonly value: T; readonly ms: number }> {
  const beganMs = performance.now()
  const value = await ask()
  return { value, ms: performance.now() - beganMs }
}

function share(subjects: readonly string[], isGood: (at: number) => boolean): number {
  return (subjects.filter((_address, at) => isGood(at)).length / subjects.length) * 100
}

function isRight(world: World, address: string, answer: Answer<'email'> | undefined): boolean {
  const expected = world.expectEmail(address, 'basic')
  if (answer?.kind !== 'outcome') return false
  return answer.status === expected.status || expected.alternatives.includes(answer.status)
}

/**
 * Whether a result of deep-email-validator is right: `valid` unless the mailbox is undeliverable,
 * invalid only if it is.
 */
function isLibraryRight(world: World, address: string, valid: boolean): boolean {
  const expected = world.expectEmail(address, 'basic')
  const all = [expected.status, ...expected.alternatives]
  return valid
    ? all.some((status) => status === 'deliverable' || status === 'risky')
    : all.includes('undeliverable')
}
