import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { apiSettings } from '../services/api/src/settings.ts'
import { workerSettings } from '../services/worker/src/settings.ts'
import { ROOT } from './run.ts'

interface ComposeService {
  readonly command?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly stop_grace_period?: string
  readonly healthcheck?: { readonly test: readonly string[] }
}

/** What a program may take beyond its drain. */
const CLOSING_SECONDS = 10

/** Safe because the tests below look at each member they use. */
const compose = parse(readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8'), { merge: true }) as {
  services: Readonly<Record<string, ComposeService>>
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
    for (const name of Object.keys(service.environment ?? {})) {
      expect([...Object.keys(schema.shape), 'NODE_OPTIONS']).toContain(name)
    }
  })

  test.each(programs)('%s is given the time that its stop may take', (_, service) => {
    const DATABASE_URL = 'postgres://host/name'
    const { DRAIN_SECONDS, STOP_DELAY_SECONDS } = apiSettings.parse({ DATABASE_URL })
    const longestSeconds = STOP_DELAY_SECONDS + DRAIN_SECONDS + CLOSING_SECONDS
    expect(Number.parseInt(service.stop_grace_period ?? '', 10)).toBeGreaterThan(longestSeconds)
  })

  test('the API is asked whether it takes calls', () => {
    expect(compose.services['api']?.healthcheck?.test.join(' ')).toContain('/readyz')
  })

  test('the image starts a program that exists', () => {
    const dockerfile = readFileSync(join(ROOT, 'infra/Dockerfile'), 'utf8')
    const script = /^CMD \["node", "([^"]+)"\]$/m.exec(dockerfile)?.[1] ?? ''
    expect(existsSync(join(ROOT, script))).toBe(true)
  })
})
