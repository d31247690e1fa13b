import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { APP_API, APP_PATHS } from '@plumbline/contract/app/paths'
import { inTransaction, type Db } from '@plumbline/db/database'
import { insertUser } from '@plumbline/db/people/users'
import { emailKeyOf } from '@plumbline/people/email-key'
import { createPasswordHasher } from '@plumbline/people/password'
import { startService, type TestService } from '@plumbline/testkit/service'
import { SMTPServer } from 'smtp-server'
import { atMost, bounded, median, type Figure } from './figure.ts'
import { onBothBackends } from './servers.ts'

/** Pairs of requests, one with a known and one with an unknown address, in random order. */
const PAIRS = 100
const WARM_UP = 8
/** Concurrent pairs: two hashes are computed at a time. */
const AT_ONCE = 2

/** Largest permitted ratio of the two median response times. */
const APART_MOST = 1.05
/**
 * How much better than chance a guess by response time may be, in percent: if times reveal nothing,
 * chance alone stays below this 997 times of 1,000 (Mann and Whitney, two samples of 100: 4.1 to
 * the standard deviation).
 */
const GUESS_MAX_PERCENT = 12.3

const PASSWORD = 'tidal lantern cactus seven'
const WAYS = ['signIn', 'beginReset', 'signUp', 'resendVerification'] as const
type Way = (typeof WAYS)[number]

/**
 * Whether the response time reveals if an address has a user: every request that needs no session,
 * with known and unknown addresses in turn, over HTTP, with a mail server. If times reveal nothing,
 * guessing "known" by the longer time is right for half of the pairs.
 */
export async function run(): Promise<readonly Figure[]> {
  await using postbox = await openPostbox()
  return await onBothBackends(async ({ name, stores }) => {
    await using service = await startService({
      ...stores,
      workers: [],
      env: {
        MAIL_URL: `smtp://127.0.0.1:${postbox.port}`,
        MAIL_FROM: 'Plumbline <no-reply@service.example>',
        PUBLIC_URL: 'https://app.service.example',
        // Each call comes from an address of its own.
        TRUSTED_PROXIES: '127.0.0.1',
        SIGN_UPS_PER_MAIL_DOMAIN: '1000000',
      },
    })
    await makePeople(service.db)
    const figures: Figure[] = []
    for (const way of WAYS) figures.push(...(await measure(service, name, way)))
    return figures
  })
}

async function makePeople(db: Db): Promise<void> {
  const passwordDigest = await createPasswordHasher().hash(PASSWORD)
  for (const way of WAYS) {
    for (let at = 0; at < PAIRS + WARM_UP; at += 1) {
      const email = addressOf(way, at, true)
      const user = { name: 'Ada', email, emailKey: emailKeyOf(email), passwordDigest }
      // A verified address is sent no mail; an unverified one is the harder case.
      const verified = way !== 'resendVerification'
      await inTransaction(db, (tx) => insertUser(tx, { ...user, verified }))
    }
  }
}

async function measure(
  service: TestService,
  backend: string,
  way: Way,
): Promise<readonly Figure[]> {
  const known: number[] = []
  const unknown: number[] = []
  let next = 0
  const asker = async (): Promise<void> => {
    for (let at = next++; at < PAIRS + WARM_UP; at = next++) {
      // Each goes first equally often.
      for (const isKnown of at % 2 === 0 ? [true, false] : [false, true]) {
        const ms = await timeOf(service, way, at, isKnown)
        if (at >= WARM_UP) (isKnown ? known : unknown).push(ms)
      }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, asker))
  const name = `user-enumeration: ${way}`
  const [shorter = 0, longer = 0] = [median(known), median(unknown)].toSorted((a, b) => a - b)
  return [
    atMost(
      { name: `${name}, median response times`, backend, unit: 'ms' },
      longer,
      shorter,
      APART_MOST,
    ),
    bounded(
      { name: `${name}, correct guesses above 50 %`, backend, unit: '%' },
      guessedPercent(known, unknown),
      GUESS_MAX_PERCENT,
    ),
  ]
}

async function timeOf(
  service: TestService,
  way: Way,
  at: number,
  isKnown: boolean,
): Promise<number> {
  const email = addressOf(way, at, isKnown)
  const body = {
    ...(way === 'signUp' ? { name: 'Ada', password: PASSWORD } : {}),
    ...(way === 'signIn' ? { password: 'a wrong one, each time' } : {}),
    email,
  }
  const { method, path } = APP_PATHS[way]
  const startMs = performance.now()
  const response = await fetch(new URL(`${APP_API}${path}`, service.url), {
    method,
    headers: {
      'content-type': 'application/json',
      'sec-fetch-site': 'same-origin',
      'x-forwarded-proto': 'https',
      'x-forwarded-for': `10.${WAYS.indexOf(way)}.${at >> 7}.${((at & 127) << 1) + (isKnown ? 1 : 0)}`,
    },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  const ms = performance.now() - startMs
  const expected = way === 'signIn' ? 401 : 200
  if (response.status !== expected) throw new Error(`${way}: ${response.status} ${text}`)
  return ms
}

function addressOf(way: Way, at: number, isKnown: boolean): string {
  return `${isKnown ? 'known' : 'other'}${at}@${way.toLowerCase()}.example`
}

/**
 * The share of all pairs in which the known address took longer (or shorter, if that is more often),
 * above one half.
 */
function guessedPercent(known: readonly number[], unknown: readonly number[]): number {
  const longer = known.reduce((sum, ms) => sum + unknown.filter((other) => ms > other).length, 0)
  return Math.abs(longer / (known.length * unknown.length) - 0.5) * 100
}

async function openPostbox(): Promise<AsyncDisposable & { readonly port: number }> {
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData: (stream, _session, done) => {
      stream.resume().on('end', () => done())
    },
  })
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  return {
    // Safe because it listens on TCP.
    port: (server.server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(resolve)
      }),
  }
}
