import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

/** Credentials with which a client signs requests. */
export interface S3Credentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly region: string
}

const CREDENTIAL =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/

/**
 * Why a request is refused, or undefined if its signature is right and covers its body.
 * Source: AWS, "Create a signed AWS API request" (Signature Version 4).
 */
export function signatureFault(
  req: IncomingMessage,
  body: Buffer,
  credentials: S3Credentials,
): string | undefined {
  const match = CREDENTIAL.exec(req.headers.authorization ?? '')
  if (match === null) return 'AccessDenied'
  const [, keyId = '', day = '', region = '', signedHeaders = '', signature = ''] = match
  if (keyId !== credentials.accessKeyId) return 'InvalidAccessKeyId'
  const payload = headerOf(req, 'x-amz-content-sha256')
  if (payload !== 'UNSIGNED-PAYLOAD' && payload !== sha256(body)) {
    return 'XAmzContentSHA256Mismatch'
  }
  const names = signedHeaders.split(';')
  if (!names.includes('host') || !names.includes('x-amz-date')) return 'AccessDenied'
  const [path = '', query = ''] = (req.url ?? '').split('?')
  const canonical = [
    req.method,
    path,
    query.split('&').toSorted().map(withEquals).join('&'),
    ...names.map((name) => `${name}:${headerOf(req, name).trim().replaceAll(/ +/g, ' ')}`),
    '',
    signedHeaders,
    payload,
  ].join('\n')
  const scope = `${day}/${region}/s3/aws4_request`
  const text = ['AWS4-HMAC-SHA256', headerOf(req, 'x-amz-date'), scope, sha256(canonical)]
  const key = [day, region, 's3', 'aws4_request'].reduce<string | Buffer>(
    (secret, part) => hmac(secret, part),
    `AWS4${credentials.secretAccessKey}`,
  )
  const right = hmac(key, text.join('\n'))
  const isRight =
    region === credentials.region && timingSafeEqual(right, Buffer.from(signature, 'hex'))
  return isRight ? undefined : 'SignatureDoesNotMatch'
}

/** Time of a request's signature, in ms since the Unix epoch, according to its headers. */
export function signedAt(req: IncomingMessage): number {
  const [, day = '', time = ''] = /^(\d{8})T(\d{6})Z$/.exec(headerOf(req, 'x-amz-date')) ?? []
  const date = `${day.slice(0, 4)}-${day.slice(4, 6)}-${day.slice(6)}`
  return Date.parse(`${date}T${time.slice(0, 2)}:${time.slice(2, 4)}:${time.slice(4)}Z`)
}

function withEquals(pair: string): string {
  return pair === '' || pair.includes('=') ? pair : `${pair}=`
}

function headerOf(req: IncomingMessage, name: string): string {
  const value = req.headers[name]
  return Array.isArray(value) ? value.join(',') : (value ?? '')
}

function sha256(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex')
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}
