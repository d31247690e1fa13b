import { expect, test } from 'vitest'
import { canonicalQuery, encodedKey, sha256, signedHeaders } from './s3-signature.ts'

const CREDENTIALS = {
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
}
const WHEN = { region: 'us-east-1', now: new Date('2013-05-24T00:00:00Z') }

// The examples of AWS, "Signature Calculations for the Authorization Header: Transferring Payload
// in a Single Chunk".
test.each([
  {
    name: 'GET object',
    method: 'GET',
    path: '/test.txt',
    headers: { range: 'bytes=0-9' },
    body: '',
    signature: 'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
  },
  {
    name: 'PUT object',
    method: 'PUT',
    path: `/${encodedKey('test$file.text')}`,
    headers: {
      date: 'Fri, 24 May 2013 00:00:00 GMT',
      'x-amz-storage-class': 'REDUCED_REDUNDANCY',
    },
    body: 'Welcome to Amazon S3.',
    signature: '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
  },
  {
    name: 'GET bucket lifecycle',
    method: 'GET',
    path: `/?${canonicalQuery({ lifecycle: '' })}`,
    headers: {},
    body: '',
    signature: 'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543',
  },
  {
    name: 'list objects',
    method: 'GET',
    path: `/?${canonicalQuery({ prefix: 'J', 'max-keys': '2' })}`,
    headers: {},
    body: '',
    signature: '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
  },
])(
  'the signature is the one that the store computes: $name',
  ({ method, path, headers, body, signature }) => {
    const url = new URL(path, 'https://examplebucket.s3.amazonaws.com')
    const request = { method, url, headers, bodySha256: sha256(body) }
    const signed = signedHeaders(request, CREDENTIALS, WHEN)
    expect(signed['authorization']).toMatch(new RegExp(`Signature=${signature}$`))
  },
)

test('a token is signed with the rest', () => {
  const url = new URL('https://s3.example/bucket/key')
  const request = { method: 'GET', url, headers: {}, bodySha256: sha256('') }
  const signed = signedHeaders(request, { ...CREDENTIALS, token: 'lent' }, WHEN)
  expect(signed['x-amz-security-token']).toBe('lent')
  expect(signed['authorization']).toContain('x-amz-date;x-amz-security-token')
})
