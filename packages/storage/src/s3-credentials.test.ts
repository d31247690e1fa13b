import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { credentialSource } from './s3-credentials.ts'

let dir: string
let server: Server
let url: string
let replies: Map<string, string>
let asked: { line: string; headers: IncomingMessage['headers']; body: string }[]

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'plumbline-credentials-'))
  replies = new Map()
  asked = []
  server = createServer((req, res) => {
    const line = `${req.method} ${req.url}`
    void text(req).then((body) => {
      asked.push({ line, headers: req.headers, body })
      res.statusCode = replies.has(line) ? 200 : 404
      res.end(replies.get(line))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port was given')
  url = `http://127.0.0.1:${address.port}`
})
afterEach(async () => {
  server.closeAllConnections()
  server.close()
  await rm(dir, { recursive: true, force: true })
})

function credentialsReply(minutes: number): string {
  return JSON.stringify({
    AccessKeyId: 'ASIALENT',
    SecretAccessKey: 'secret',
    Token: 'token',
    Expiration: new Date(Date.now() + minutes * 60_000).toISOString(),
  })
}

test('keys in the environment take precedence', async () => {
  const source = credentialSource(
    { AWS_ACCESS_KEY_ID: 'AKIA', AWS_SECRET_ACCESS_KEY: 's', AWS_SESSION_TOKEN: 't' },
    'eu-test-1',
  )
  expect(await source()).toEqual({ accessKeyId: 'AKIA', secretAccessKey: 's', token: 't' })
})

test('keys of a profile are read from its file', async () => {
  const path = join(dir, 'credentials')
  await writeFile(
    path,
    '# ours\n[default]\naws_access_key_id = WRONG\n[backup]\naws_access_key_id=AKIAFILE\naws_secret_access_key = a=b/c\n',
  )
  const source = credentialSource(
    { AWS_SHARED_CREDENTIALS_FILE: path, AWS_PROFILE: 'backup', HOME: dir },
    'eu-test-1',
  )
  expect(await source()).toMatchObject({ accessKeyId: 'AKIAFILE', secretAccessKey: 'a=b/c' })
})

test('a web identity is exchanged for a role', async () => {
  const tokenFile = join(dir, 'token')
  await writeFile(tokenFile, 'header.payload.signature\n')
  replies.set(
    'POST /',
    '<AssumeRoleWithWebIdentityResponse><Credentials><AccessKeyId>ASIAWEB</AccessKeyId><SecretAccessKey>s&amp;t</SecretAccessKey><SessionToken>tok</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleWithWebIdentityResponse>',
  )
  const source = credentialSource(
    {
      AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile,
      AWS_ROLE_ARN: 'arn:aws:iam::1:role/files',
      AWS_ENDPOINT_URL_STS: url,
      HOME: dir,
    },
    'eu-test-1',
  )
  expect(await source()).toMatchObject({
    accessKeyId: 'ASIAWEB',
    secretAccessKey: 's&t',
    token: 'tok',
  })
  expect(new URLSearchParams(asked[0]?.body).get('WebIdentityToken')).toBe(
    'header.payload.signature',
  )
})

test('a container requests its role with its token, once for many requests', async () => {
  replies.set('GET /role', credentialsReply(60))
  const source = credentialSource(
    {
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `${url}/role`,
      AWS_CONTAINER_AUTHORIZATION_TOKEN: 'Basic x',
      HOME: dir,
    },
    'eu-test-1',
  )
  const [one] = await Promise.all([source(), source(), source()])
  expect(one).toMatchObject({ accessKeyId: 'ASIALENT', token: 'token' })
  await source()
  expect(asked.map(({ line, headers }) => [line, headers.authorization])).toEqual([
    ['GET /role', 'Basic x'],
  ])
})

test('a machine fetches its role with a token, and again before it expires', async () => {
  const roles = '/latest/meta-data/iam/security-credentials/'
  replies.set('PUT /latest/api/token', 'short')
  replies.set(`GET ${roles}`, 'files\n')
  replies.set(`GET ${roles}files`, credentialsReply(4))
  const source = credentialSource(
    { AWS_EC2_METADATA_SERVICE_ENDPOINT: url, HOME: dir },
    'eu-test-1',
  )
  await source()
  expect(asked.at(-1)?.headers['x-aws-ec2-metadata-token']).toBe('short')
  replies.set(`GET ${roles}files`, credentialsReply(60))
  await source()
  await source()
  expect(asked).toHaveLength(6)
  // Temporary credentials stay valid when the service no longer replies.
  replies.clear()
  expect(await source()).toMatchObject({ accessKeyId: 'ASIALENT' })
})

test('without any source the error says which settings to set', async () => {
  const source = credentialSource({ AWS_EC2_METADATA_DISABLED: 'true', HOME: dir }, 'eu-test-1')
  await expect(source()).rejects.toThrow('AWS_ACCESS_KEY_ID')
})
