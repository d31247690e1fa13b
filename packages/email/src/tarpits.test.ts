import { expect, test } from 'vitest'
import { ask, outcomeOf, testEngine, zoneOf } from './engine-fixture.ts'
import { startSmtp } from './smtp-fixture.ts'
import type { SmtpFixture, SmtpScript } from './smtp-fixture.ts'

const TIMES = { connectMs: 20_000, greetingMs: 20_000, commandMs: 20_000, sessionMs: 60_000 }
const LIMITS = { sessions: 8, liveSessions: 4, queueMs: 2_000 }

/** Domains with a mail host each, at addresses from 127.0.0.`first` on. */
function domainsFrom(first: number, name: string, count: number): Record<string, string> {
  return Object.fromEntries(
    Array.from({ length: count }, (_, n) => [`${name}${n}.test`, `127.0.0.${first + n}`]),
  )
}

/** A server at each address of a zone. */
async function startAll(
  script: SmtpScript,
  zone: Readonly<Record<string, string>>,
  port = 0,
): Promise<{ readonly port: number; readonly servers: readonly SmtpFixture[] } & AsyncDisposable> {
  const servers: SmtpFixture[] = []
  for (const address of Object.values(zone)) {
    servers.push(await startSmtp(script, address, servers[0]?.port ?? port))
  }
  return {
    port: servers[0]?.port ?? port,
    servers,
    async [Symbol.asyncDispose]() {
      await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()))
    },
  }
}

function sumOf(servers: readonly SmtpFixture[], count: 'open' | 'all'): number {
  return servers.reduce((sum, { sessions }) => sum + sessions[count], 0)
}

test('hosts that never greet, of one account, do not keep the places of another account', async () => {
  const [traps, honest] = [domainsFrom(30, 't', 8), domainsFrom(20, 'g', 3)]
  await using good = await startAll({}, honest)
  await using tarpit = await startAll({ greeting: null }, traps, good.port)
  await using engine = testEngine(good.port, zoneOf({ ...traps, ...honest }), {
    times: TIMES,
    limits: LIMITS,
  })
  const over = new AbortController()
  const trapped = ask(
    engine,
    Object.keys(traps).map((domain) => `a@${domain}`),
    { lane: 'bulk', account: 'attacker', signal: over.signal },
  )
  await expect.poll(() => sumOf(tarpit.servers, 'open')).toBe(4)
  const subjects = Object.keys(honest).map((domain) => `ok@${domain}`)
  const answers = await ask(engine, subjects, { lane: 'bulk', account: 'other' })
  expect(answers.map((answer) => outcomeOf(answer).status)).toEqual(
    subjects.map(() => 'deliverable'),
  )
  over.abort()
  await trapped
})

test('an account alone keeps all places, however slowly its hosts greet', async () => {
  const domains = domainsFrom(40, 's', 4)
  await using slow = await startAll(
    {
      raw: (socket) => {
        socket.on('data', (chunk) => {
          const verbs = chunk.toString('latin1').match(/^(EHLO|MAIL|RCPT|RSET)/gm) ?? []
          socket.write(verbs.map(() => '250 2.1.5 ok\r\n').join(''))
        })
        setTimeout(() => socket.write('220 mx.test ESMTP\r\n'), 1_300)
      },
    },
    domains,
  )
  await using engine = testEngine(slow.port, zoneOf(domains), { times: TIMES, limits: LIMITS })
  const subjects = Object.keys(domains).map((domain) => `ok@${domain}`)
  const answers = await ask(engine, subjects, { lane: 'bulk' })
  expect(answers.map((answer) => outcomeOf(answer).status)).toEqual(
    subjects.map(() => 'deliverable'),
  )
  expect(sumOf(slow.servers, 'all')).toBe(4)
})

test('the opening of a session is bounded as a whole, however many hosts and replies delay it', async () => {
  await using server = await startSmtp({
    raw: (socket) => void setTimeout(() => socket.write('220-wait\r\n'), 20),
  })
  const zone = {
    'drip.test MX': [1, 2, 3].map((preference) => ({
      preference,
      exchange: `mx${preference}.drip.test`,
    })),
    'mx1.drip.test A': ['127.0.0.1', '127.0.0.2'],
    'mx2.drip.test A': ['127.0.0.1', '127.0.0.2'],
    'mx3.drip.test A': ['127.0.0.1', '127.0.0.2'],
  }
  await using engine = testEngine(server.port, zone, { times: { ...TIMES, openingMs: 300 } })
  const began = performance.now()
  expect(outcomeOf((await ask(engine, ['a@drip.test']))[0]).reason).toBe('timeout')
  expect(performance.now() - began).toBeLessThan(5_000)
})
