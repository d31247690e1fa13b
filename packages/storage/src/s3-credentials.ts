import { readFile } from 'node:fs/promises'
import type { Environment } from '@plumbline/runtime/settings'
import { readProfile } from './s3-profile.ts'
import type { Credentials } from './s3-signature.ts'
import { textOf } from './s3-xml.ts'

/**
 * Returns credentials that are valid for at least some minutes, and others than those that the
 * store has refused as expired: its clock decides, not ours.
 */
export type CredentialSource = (expired?: Credentials) => Promise<Credentials>

/** Milliseconds before their expiry at which temporary credentials are fetched again. */
const RENEW_BEFORE_MS = 5 * 60_000

/** Time-out of the metadata service: a machine without one must not delay the start. */
const ASK_WITHIN_MS = 5_000

const ANSWER_MAX_BYTES = 64 * 1_024

interface TemporaryCredentials extends Credentials {
  /** Milliseconds since the Unix epoch; absent if they do not expire. */
  readonly endsAt?: number
}

/**
 * Credentials as the AWS tools find them, the first of: environment, a profile's keys, a web
 * identity, a container's role, a machine's role (IMDSv2). Single sign-on and a profile's
 * `credential_process` are not supported. Source: AWS, "Standardized credential providers".
 *
 * @throws if there are none
 */
export function credentialSource(environment: Environment, region: string): CredentialSource {
  let kept: TemporaryCredentials | undefined
  let asking: Promise<TemporaryCredentials> | undefined
  const isValidFor = (ms: number, expired: Credentials | undefined): boolean =>
    kept !== undefined && kept !== expired && (kept.endsAt ?? Infinity) - Date.now() > ms
  return async (expired) => {
    if (kept !== undefined && isValidFor(RENEW_BEFORE_MS, expired)) return kept
    asking ??= findCredentials(environment, region).finally(() => (asking = undefined))
    try {
      kept = await asking
    } catch (error) {
      // Temporary credentials are valid until they expire, even if their renewal fails.
      if (kept === undefined || !isValidFor(0, expired)) throw error
    }
    return kept
  }
}

async function findCredentials(
  environment: Environment,
  region: string,
): Promise<TemporaryCredentials> {
  const found =
    keysOf(environment) ??
    (await keysOfProfile(environment)) ??
    (await webIdentity(environment, region)) ??
    (await containerRole(environment)) ??
    (await machineRole(environment))
  if (found === undefined) {
    throw new Error(
      'no credentials for S3 were found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the machine a role',
    )
  }
  return found
}

function keysOf(environment: Environment): TemporaryCredentials | undefined {
  const accessKeyId = environment['AWS_ACCESS_KEY_ID']
  const secretAccessKey = environment['AWS_SECRET_ACCESS_KEY']
  if (!accessKeyId || !secretAccessKey) return undefined
  return { accessKeyId, secretAccessKey, token: environment['AWS_SESSION_TOKEN'] || undefined }
}

async function keysOfProfile(environment: Environment): Promise<TemporaryCredentials | undefined> {
  const profile = await readProfile(environment)
  const accessKeyId = profile.get('aws_access_key_id')
  const secretAccessKey = profile.get('aws_secret_access_key')
  if (accessKeyId === undefined || secretAccessKey === undefined) return undefined
  return { accessKeyId, secretAccessKey, token: profile.get('aws_session_token') }
}

/** Source: AWS STS, AssumeRoleWithWebIdentity, which is not signed. */
async function webIdentity(
  environment: Environment,
  region: string,
): Promise<TemporaryCredentials | undefined> {
  const tokenFile = environment['AWS_WEB_IDENTITY_TOKEN_FILE']
  const role = environment['AWS_ROLE_ARN']
  if (!tokenFile || !role) return undefined
  const endpoint =
    environment['AWS_ENDPOINT_URL_STS'] || `https://sts.${region}.${suffixOf(region)}`
  const form = new URLSearchParams({
    Action: 'AssumeRoleWithWebIdentity',
    Version: '2011-06-15',
    RoleArn: role,
    RoleSessionName: environment['AWS_ROLE_SESSION_NAME'] || 'plumbline',
    WebIdentityToken: (await readFile(tokenFile, 'utf8')).trim(),
  })
  const xml = await ask(endpoint, { method: 'POST', body: form })
  return temporaryCredentials({
    AccessKeyId: textOf(xml, 'AccessKeyId'),
    SecretAccessKey: textOf(xml, 'SecretAccessKey'),
    Token: textOf(xml, 'SessionToken'),
    Expiration: textOf(xml, 'Expiration'),
  })
}

/** Source: AWS, "Container credential provider" (ECS, EKS Pod Identity). */
async function containerRole(environment: Environment): Promise<TemporaryCredentials | undefined> {
  const relative = environment['AWS_CONTAINER_CREDENTIALS_RELATIVE_URI']
  const full = environment['AWS_CONTAINER_CREDENTIALS_FULL_URI']
  if (!relative && !full) return undefined
  const tokenFile = environment['AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE']
  const token = tokenFile
    ? (await readFile(tokenFile, 'utf8')).trim()
    : environment['AWS_CONTAINER_AUTHORIZATION_TOKEN']
  const url = relative ? `http://169.254.170.2${relative}` : (full ?? '')
  return temporaryCredentials(
    JSON.parse(await ask(url, { headers: token ? { Authorization: token } : {} })) as unknown,
  )
}

/** Source: AWS, "Use the Instance Metadata Service", version 2. */
async function machineRole(environment: Environment): Promise<TemporaryCredentials | undefined> {
  if (environment['AWS_EC2_METADATA_DISABLED']?.toLowerCase() === 'true') return undefined
  const base = environment['AWS_EC2_METADATA_SERVICE_ENDPOINT'] || 'http://169.254.169.254'
  let token: string
  try {
    token = await ask(new URL('/latest/api/token', base).href, {
      method: 'PUT',
      headers: { 'X-aws-ec2-metadata-token-ttl-seconds': '300' },
    })
  } catch {
    // Most machines are not on AWS.
    return undefined
  }
  const headers = { 'X-aws-ec2-metadata-token': token }
  const roles = new URL('/latest/meta-data/iam/security-credentials/', base).href
  const [role = ''] = (await ask(roles, { headers })).trim().split('\n')
  return temporaryCredentials(JSON.parse(await ask(`${roles}${role}`, { headers })) as unknown)
}

function temporaryCredentials(reply: unknown): TemporaryCredentials {
  // Safe because each member is checked before it is used.
  const fields = reply as Readonly<Record<string, unknown>>
  const { AccessKeyId, SecretAccessKey, Token, Expiration } = fields
  if (typeof AccessKeyId !== 'string' || typeof SecretAccessKey !== 'string') {
    throw new Error('the credentials service returned no credentials for S3')
  }
  const endsAt = typeof Expiration === 'string' ? Date.parse(Expiration) : Number.NaN
  return {
    accessKeyId: AccessKeyId,
    secretAccessKey: SecretAccessKey,
    token: typeof Token === 'string' ? Token : undefined,
    ...(Number.isNaN(endsAt) ? {} : { endsAt }),
  }
}

async function ask(url: string, init: RequestInit): Promise<string> {
  const response = await fetch(url, {
    ...init,
    redirect: 'error',
    signal: AbortSignal.timeout(ASK_WITHIN_MS),
  })
  const parts: string[] = []
  let length = 0
  for await (const part of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    length += part.length
    if (length > ANSWER_MAX_BYTES) throw new Error(`the reply of ${new URL(url).host} is too long`)
    parts.push(part)
  }
  // The reply itself may contain secrets.
  if (!response.ok) throw new Error(`${new URL(url).host} replied ${response.status}`)
  return parts.join('')
}

/** The DNS suffix of a region's services. */
export function suffixOf(region: string): string {
  return region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com'
}
