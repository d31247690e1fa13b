import { createHash, createHmac } from 'node:crypto'

/** Credentials for signing; `token` for temporary ones. */
export interface Credentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly token?: string | undefined
}

/** A request before it is signed. */
export interface UnsignedRequest {
  readonly method: string
  readonly url: URL
  /** Header values by name in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** SHA-256 of the body in hexadecimal. */
  readonly bodySha256: string
}

/**
 * The headers of a request with its signature, valid for 15 minutes around `now`. Source: AWS,
 * "Create a signed AWS API request" (Signature Version 4), for S3: paths are encoded once.
 */
export function signedHeaders(
  request: UnsignedRequest,
  credentials: Credentials,
  { region, now }: { readonly region: string; readonly now: Date },
): Record<string, string> {
  const time = now.toISOString().replaceAll(/[-:]|\.\d{3}/g, '')
  const day = time.slice(0, 8)
  const headers: Record<string, string> = {
    ...request.headers,
    host: request.url.host,
    'x-amz-content-sha256': request.bodySha256,
    'x-amz-date': time,
    ...(credentials.token === undefined ? {} : { 'x-amz-security-token': credentials.token }),
  }
  const names = Object.keys(headers).toSorted()
  const canonical = [
    request.method,
    request.url.pathname,
    request.url.search.slice(1),
    ...names.map((name) => `${name}:${(headers[name] ?? '').trim().replaceAll(/ +/g, ' ')}`),
    '',
    names.join(';'),
    request.bodySha256,
  ].join('\n')
  const scope = `${day}/${region}/s3/aws4_request`
  const text = ['AWS4-HMAC-SHA256', time, scope, sha256(canonical)].join('\n')
  const key = [day, region, 's3', 'aws4_request'].reduce<string | Buffer>(
    (secret, part) => hmac(secret, part),
    `AWS4${credentials.secretAccessKey}`,
  )
  const signature = hmac(key, text).toString('hex')
  return {
    ...headers,
    authorization: `AWS4-HMAC-SHA256 Credential=${credentials.accessKeyId}/${scope}, SignedHeaders=${names.join(';')}, Signature=${signature}`,
  }
}

/** A query string in the order and encoding that are signed. */
export function canonicalQuery(query: Readonly<Record<string, string | undefined>>): string {
  return Object.entries(query)
    .flatMap(([name, value]) => (value === undefined ? [] : [`${encoded(name)}=${encoded(value)}`]))
    .toSorted()
    .join('&')
}

/** A key as a path; `/` stays. */
export function encodedKey(key: string): string {
  return key.split('/').map(encoded).join('/')
}

/** SHA-256 in hexadecimal. */
export function sha256(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex')
}

/** Percent-encoding of all but the unreserved characters of RFC 3986. */
function encoded(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}
