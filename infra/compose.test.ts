import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileVariable, isSecret } from '@plumbline/runtime/secret-files'
import { readSettings } from '@plumbline/runtime/settings'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { apiSettings } from '@plumbline/api/settings'
import { CONTAINER_FLAGS, MEMORY_ENVIRONMENT } from '@plumbline/local/children'
import { workerSettings } from '@plumbline/worker/settings'
import { PLATFORM_VARIABLES } from './platform-variables.ts'
import { ROOT } from './run.ts'

interface ComposeService {
  readonly image?: string
  readonly secrets?: readonly string[]
  readonly ports?: readonly string[]
  readonly mem_limit?: string
  readonly pids_limit?: number
  readonly security_opt?: readonly string[]
  readonly command?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly stop_grace_period?: string
  readonly healthcheck?: { readonly test: readonly string[] }
}

/** Seconds that a program may take after its drain to close its resources. */
const CLOSING_SECONDS = 10

/** The part of a Prometheus configuration that names what it scrapes. */
interface ScrapeExample {
  readonly scrape_configs: readonly {
    readonly static_configs: readonly { readonly targets: readonly string[] }[]
  }[]
}

/** Safe because the tests below check each member that they use. */
const compose = parse(readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8'), { merge: true }) as {
  services: Readonly<Record<string, ComposeService>>
  secrets: Readonly<Record<string, { readonly file: string }>>
}
const programs = Object.entries(compose.services).filter(
  ([, { command }]) => command?.[0] === 'node',
)

describe('docker-compose.yml', () => {
  test('runs the migration, the API and a worker of each kind', () => {
    expect(programs.map(([name]) => name).toSorted()).toEqual([
      'api',
      'migrate',
      'worker-batch',
      'worker-domain',
      'worker-email',
      'worker-ip',
      'worker-phone',
    ])
  })

  test.each(programs)('%s starts a program that exists', (_, { command }) => {
    const [, script = ''] = command ?? []
    expect(existsSync(join(ROOT, script))).toBe(true)
  })

  test.each(programs)('%s sets only variables that its program reads', (_, service) => {
    const schema = service.command?.[1]?.includes('/api/') ? apiSettings : workerSettings
    const settings = Object.keys(schema.shape)
    const files = settings.filter(isSecret).map(fileVariable)
    for (const name of Object.keys(service.environment ?? {})) {
      expect([...settings, ...files, ...PLATFORM_VARIABLES]).toContain(name)
    }
  })

  test.each(programs)('%s has the memory limits of a container', (_, service) => {
    const NODE_OPTIONS = CONTAINER_FLAGS.join(' ')
    expect(service.environment).toMatchObject({ ...MEMORY_ENVIRONMENT, NODE_OPTIONS })
  })

  test('each program exposes its metrics where the scrape example of the docs expects them', () => {
    const [, example = ''] =
      /```yaml\n(rule_files[^]*?)```/.exec(
        readFileSync(join(ROOT, 'docs/observability.md'), 'utf8'),
      ) ?? []
    // Safe because a test fails that cannot read it.
    const { scrape_configs: jobs } = parse(example) as ScrapeExample
    const exposed = programs
      .filter(([name]) => name !== 'migrate')
      .map(([name, { environment }]) => {
        expect(environment?.['ADMIN_HOST']).toBe('0.0.0.0')
        const port =
          name === 'api'
            ? apiSettings.shape.ADMIN_PORT.parse(environment?.['ADMIN_PORT'])
            : workerSettings.shape.WORKER_ADMIN_PORT.parse(environment?.['WORKER_ADMIN_PORT'])
        return `${name}:${port}`
      })
    const targets = jobs.flatMap(({ static_configs }) => static_configs.flatMap((to) => to.targets))
    expect(targets.toSorted()).toEqual(exposed.toSorted())
  })

  test.each(Object.entries(compose.services))(
    '%s has limits and no new privileges',
    (_, service) => {
      expect(service).toMatchObject({
        mem_limit: expect.stringMatching(/^\d+[gm]$/),
        pids_limit: expect.any(Number),
        security_opt: ['no-new-privileges:true'],
      })
    },
  )

  test.each(Object.entries(compose.services))(
    '%s reads each of its secrets from a file',
    (_, service) => {
      const text = JSON.stringify(service)
      for (const [, name = ''] of text.matchAll(/\/run\/secrets\/([\w-]+)/g)) {
        expect(service.secrets).toContain(name)
      }
      for (const name of service.secrets ?? []) {
        expect(compose.secrets[name]).toEqual({ file: `./secrets/${name}` })
      }
      expect(text).not.toMatch(/:\/\/[^"]*:[^"]*@|PASSWORD":/)
    },
  )

  test('only the migration connects to the database as its owner', () => {
    const given = Object.entries(compose.services).flatMap(([name, { secrets = [] }]) =>
      secrets.includes('owner-database-url') ? [name] : [],
    )
    expect(given).toEqual(['migrate'])
  })

  test('the passwords of two roles are generated once, and the programs read them', () => {
    const folder = join(mkdtempSync(join(tmpdir(), 'plumbline-compose-')), 'secrets')
    const make = () => execFileSync('sh', [join(ROOT, 'infra/compose-secrets.sh'), folder])
    const read = (name: string): string => readFileSync(join(folder, name), 'utf8')
    make()
    const environment = {
      DATABASE_URL_FILE: join(folder, 'database-url'),
      MIGRATE_DATABASE_URL_FILE: join(folder, 'owner-database-url'),
      REDIS_URL_FILE: join(folder, 'redis-url'),
    }
    const {
      DATABASE_URL,
      MIGRATE_DATABASE_URL = '',
      REDIS_URL = '',
    } = readSettings(workerSettings, environment)
    expect(new URL(DATABASE_URL).username).toBe('plumbline_serving')
    expect(new URL(MIGRATE_DATABASE_URL).username).toBe('plumbline')
    expect(new URL(REDIS_URL).password).toBe(read('valkey-password').trim())
    const passwords = [DATABASE_URL, MIGRATE_DATABASE_URL, REDIS_URL].map(
      (url) => new URL(url).password,
    )
    expect(new Set(passwords).size).toBe(3)
    expect(passwords.every((password) => /^[0-9a-f]{48}$/.test(password))).toBe(true)
    expect(read('admin-token').trim()).toMatch(/^[0-9a-f]{48}$/)
    expect(statSync(folder).mode & 0o777).toBe(0o700)
    expect(readdirSync(folder).toSorted()).toEqual(
      [...Object.keys(compose.secrets), 'serving-password'].toSorted(),
    )
    make()
    expect(readSettings(workerSettings, environment).DATABASE_URL).toBe(DATABASE_URL)
    rmSync(dirname(folder), { recursive: true })
  })

  test('an own password of the owner may have any characters', () => {
    const folder = mkdtempSync(join(tmpdir(), 'plumbline-compose-'))
    const own = 'p/a#s?s@w:o%r%41d \\ü[AZaz09-._~]'
    writeFileSync(join(folder, 'owner-password'), `${own}\n`)
    execFileSync('sh', [join(ROOT, 'infra/compose-secrets.sh'), folder])
    const url = new URL(readFileSync(join(folder, 'owner-database-url'), 'utf8').trim())
    expect(decodeURIComponent(url.password)).toBe(own)
    expect([url.username, url.host, url.pathname]).toEqual([
      'plumbline',
      'postgres:5432',
      '/plumbline',
    ])
    rmSync(folder, { recursive: true })
  })

  test.each(programs)('%s has enough time to stop', (_, service) => {
    const DATABASE_URL = 'postgres://host/name'
    const { DRAIN_SECONDS, STOP_DELAY_SECONDS } = apiSettings.parse({ DATABASE_URL })
    const longestSeconds = STOP_DELAY_SECONDS + DRAIN_SECONDS + CLOSING_SECONDS
    expect(Number.parseInt(service.stop_grace_period ?? '', 10)).toBeGreaterThan(longestSeconds)
  })

  test('only ports of loopback are published, and the admin port needs a generated token', () => {
    const published = Object.entries(compose.services).flatMap(([name, { ports = [] }]) =>
      ports.map((port) => [name, port]),
    )
    expect(published).toEqual([
      ['api', '127.0.0.1:8080:8080'],
      ['api', '127.0.0.1:9090:9090'],
    ])
    expect(compose.services['api']?.environment).toMatchObject({
      ADMIN_TOKEN_FILE: '/run/secrets/admin-token',
    })
  })

  test("the API's health check asks whether it accepts calls", () => {
    expect(compose.services['api']?.healthcheck?.test.join(' ')).toContain('/readyz')
  })

  test('the image starts a program that exists', () => {
    const dockerfile = readFileSync(join(ROOT, 'infra/Dockerfile'), 'utf8')
    const script = /^CMD \["node", "([^"]+)"\]$/m.exec(dockerfile)?.[1] ?? ''
    expect(existsSync(join(ROOT, script))).toBe(true)
  })
})
