import { expect, test, vi } from 'vitest'
import { spawnSimnet } from '../simnet/child.ts'
import { oneBackend } from '@plumbline/testkit/one-backend'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { startService, type TestService } from '@plumbline/testkit/service'
import { canRunUnbound, startUnbound } from '@plumbline/testkit/unbound'

// Whole processes behind a resolver that serves a closed network, until it knows the public DNS.

/** Time limit that exceeds the minute after which the root is queried again. */
const HEALED = { timeout: 100_000, interval: 2_000 }

interface Told {
  readonly charged: string | null
  readonly body: {
    readonly [field: string]: unknown
    readonly explain: {
      readonly [part: string]: { readonly status: string; readonly reason: string }
    }
  }
}

// Unbound is Debian's; without it there is no closed network.
test.skipIf(!canRunUnbound()).each(oneBackend('redis'))(
  'a name denied by a resolver without a root is unknown and refunded, and correct after its repair, on $name',
  async ({ redisUrl }) => {
    await using simnet = await spawnSimnet({})
    await using unbound = await startUnbound()
    await using database = await createTestDatabase()
    await using service = await startService({
      databaseUrl: database.url,
      redisUrl,
      engines: 'real',
      workers: [['email', 'domain', 'ip', 'phone']],
      env: {
        ...simnet.settings,
        DNS_SERVERS: unbound.server,
        CHARGE_UNKNOWN: 'false',
        IP_DNS_LISTS: 'zen.spamhaus.org',
      },
    })
    const { liveKey } = await service.account({ plan: 'pro' })
    const email = { email: 'postmaster@gmail.com' }
    const domain = { domain: 'gmail.com' }

    for (let asked = 0; asked < 7; asked++) {
      const mailbox = await ask(service, liveKey, 'email', email)
      expect(mailbox.charged).toBe('0')
      expect(mailbox.body.explain['email']).toMatchObject({
        status: 'unknown',
        reason: 'dns_unavailable',
      })
      const name = await ask(service, liveKey, 'domain', domain)
      expect(name.charged).toBe('0')
      expect(name.body['safety_score']).toBe(100)
      expect(name.body.explain['domain']).toMatchObject({
        status: 'unknown',
        reason: 'dns_unavailable',
        evidence: { dns: { unavailable: true } },
      })
    }
    const fraud = await ask(service, liveKey, 'fraud-signals', { ...email, ...domain })
    expect(fraud.body['risk_level']).toBe('low')
    expect(JSON.stringify(fraud.body.explain)).not.toMatch(/no_domain|unregistered|no_mx|broken/)
    const address = await ask(service, liveKey, 'ip', { ip: '5.2.3.4' })
    expect(JSON.stringify(address.body.explain['ip'])).toContain(
      '{"list":"zen.spamhaus.org","unanswered":"dns_unavailable"}',
    )

    await unbound.forwardTo(simnet.settings['DNS_SERVERS'] ?? '')
    const nobody = { email: 'ada@nobody-has-it.com' }
    await vi.waitFor(
      async () =>
        expect(await reasonOf(service, liveKey, 'email', nobody)).toBe('undeliverable no_domain'),
      HEALED,
    )
    expect(await reasonOf(service, liveKey, 'email', email)).toBe('deliverable accepted')
    expect(await reasonOf(service, liveKey, 'domain', domain)).toBe('answered registered')
  },
)

async function ask(
  service: TestService,
  key: string,
  product: string,
  body: object,
): Promise<Told> {
  const response = await service.call(key, 'POST', `/v1/${product}`, { ...body, explain: true })
  expect(response.status).toBe(200)
  return {
    charged: response.headers.get('x-credits-charged'),
    body: (await response.json()) as Told['body'],
  }
}

async function reasonOf(
  service: TestService,
  key: string,
  product: 'email' | 'domain',
  body: object,
): Promise<string> {
  const part = (await ask(service, key, product, body)).body.explain[product]
  return `${part?.status} ${part?.reason}`
}
