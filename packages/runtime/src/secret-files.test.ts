import { execFileSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { isSecret } from './secret-files.ts'
import { readSettings, wholeNumber } from './settings.ts'

const schema = z.object({
  DATABASE_URL: z.string('expected a postgres:// address'),
  HLR_SECRET: z.string().optional(),
  PORT: wholeNumber({ min: 1 }).default(1),
})

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'plumbline-secrets-'))
})
afterEach(() => rm(dir, { recursive: true, force: true }))

async function fileOf(content: string | Buffer): Promise<string> {
  const path = join(dir, 'secret')
  await writeFile(path, content)
  return path
}

test.each([
  ['postgres://a:b@c/d', 'postgres://a:b@c/d'],
  ['postgres://a:b@c/d\n', 'postgres://a:b@c/d'],
  ['postgres://a:b@c/d\r\n', 'postgres://a:b@c/d'],
  [' two words \n\n', ' two words \n'],
])(
  'a secret is read from its file, without the line break at its end: %j',
  async (content, secret) => {
    const path = await fileOf(content)
    expect(readSettings(schema, { DATABASE_URL_FILE: path })).toEqual({
      DATABASE_URL: secret,
      PORT: 1,
    })
  },
)

test('a secret that is given twice is an error that shows neither value', async () => {
  const path = await fileOf('postgres://one')
  const read = () =>
    readSettings(schema, { DATABASE_URL: 'postgres://two', DATABASE_URL_FILE: path })
  expect(read).toThrow(
    'The settings have a fault:\n  DATABASE_URL_FILE: expected one of it and DATABASE_URL, got both',
  )
})

test('an empty variable counts as unset, also one with a path', async () => {
  const path = await fileOf('x')
  expect(readSettings(schema, { DATABASE_URL: '', DATABASE_URL_FILE: path })).toMatchObject({
    DATABASE_URL: 'x',
  })
  expect(readSettings(schema, { DATABASE_URL: 'y', DATABASE_URL_FILE: '' })).toMatchObject({
    DATABASE_URL: 'y',
  })
})

test('every unusable file is reported at once, together with other faults, without its content', async () => {
  const long = await fileOf(Buffer.alloc(65 * 1024, 'a'))
  const read = () =>
    readSettings(schema, { DATABASE_URL_FILE: join(dir, 'none'), HLR_SECRET_FILE: long, PORT: 'x' })
  expect(read).toThrow(
    /3 faults:\n {2}DATABASE_URL_FILE: ENOENT.+\n {2}HLR_SECRET_FILE: .+ is longer than 65536 bytes\n {2}PORT: /,
  )
  expect(read).not.toThrow(/aaaa/)
})

test('an empty file, a directory and a pipe without a writer are errors', async () => {
  const empty = await fileOf('\n')
  const pipe = join(dir, 'pipe')
  execFileSync('mkfifo', [pipe])
  for (const [path, fault] of [
    [empty, 'is empty'],
    [dir, 'is not a file'],
    [pipe, 'is not a file'],
  ] as const) {
    expect(() => readSettings(schema, { DATABASE_URL_FILE: path })).toThrow(fault)
  }
})

test('settings that are not secrets are not read from files', () => {
  expect(readSettings(schema, { DATABASE_URL: 'x', PORT_FILE: '/etc/passwd' })).toMatchObject({
    PORT: 1,
  })
})

test.each([
  'DATABASE_URL',
  'MIGRATE_DATABASE_URL',
  'DATABASE_DIRECT_URL',
  'REDIS_URL',
  'SMTP_PROXY_URL',
  'HLR_KEY',
  'HLR_SECRET',
  'INSTALLATION_KEY',
  'ADMIN_TOKEN',
  'PLUMBLINE_KEY',
  'AWS_ACCESS_KEY_ID',
  'AWS_SECRET_ACCESS_KEY',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'AWS_SESSION_TOKEN',
])('%s is a secret', (name) => {
  expect(isSecret(name)).toBe(true)
})

test.each([
  'KEY_PREFIX',
  'REDIS_PREFIX',
  'FILES_URL',
  'API_URL',
  'HLR_URL',
  'FAILED_KEYS_PER_MINUTE',
])('%s is not a secret', (name) => {
  expect(isSecret(name)).toBe(false)
})
